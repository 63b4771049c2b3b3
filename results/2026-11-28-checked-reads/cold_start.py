"""Milliseconds of `ken search` from its start to its end, 30 times in each mode over 2,000 passages. Usage: cold_start.py KEN EMBEDDER"""
import subprocess,time,tempfile,pathlib,json,sys
ken,emb=sys.argv[1:3]
with tempfile.TemporaryDirectory() as w:
    w=pathlib.Path(w)
    (w/'n.jsonl').write_text("".join(json.dumps({"id":str(i),"contents":f"Valve {i} is painted red and checked every {i%40} days."})+"\n" for i in range(2000)))
    subprocess.run([ken,'ingest','n.jsonl','--corpus','c','--embedder',emb],cwd=w,check=True,capture_output=True)
    for mode in ('lexical','dense','hybrid'):
        ts=[]
        for _ in range(30):
            t=time.perf_counter(); subprocess.run([ken,'search','which valve is red','--corpus','c','--embedder',emb,'--mode',mode],cwd=w,check=True,capture_output=True); ts.append(time.perf_counter()-t)
        ts.sort(); print(mode,'median',round(ts[15]*1e3,1),'least',round(ts[0]*1e3,1),'most',round(ts[-1]*1e3,1),'ms')
