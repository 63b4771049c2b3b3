import json, os, pathlib, subprocess, sys
sys.path.insert(0,str(pathlib.Path(__file__).parents[2] / 'xtask/bench/answers'))
from judge import holds
K = os.environ.get('KEN', 'ken')
def hits(corpus,qs):
    asked="\n".join(q["question"] for q in qs)+"\n"
    out=subprocess.run([K,"search","-","--json","--corpus",corpus,"--k","10"],input=asked,capture_output=True,text=True,check=True).stdout
    return [json.loads(l)["hits"] for l in out.splitlines()]
def title(h):
    t=h.get("title") or ""; hd=h.get("heading") or h.get("headings") or ""
    if isinstance(hd,list): hd=" › ".join(hd)
    return " › ".join(x for x in (t,hd) if x)
def emit(f,id,q,found): f.write(json.dumps(dict(id=id,question=q,passages=[dict(title=title(h),text=h["text"]) for h in found[:3]]))+"\n")
def make(corpus,qs,out,both):
    with open(out,"w") as f:
        for q,h in zip(qs,hits(corpus,qs)):
            emit(f,q["id"],q["question"],h)
            g=q["golden_answers"]
            if both(q):
                rest=[x for x in h if not any(holds(x["text"],a) for a in g)]
                emit(f,q["id"]+"~",q["question"],rest)
if __name__=="__main__":
    if sys.argv[1]=="xq":
        qs=[json.loads(l) for l in open('xq.q.jsonl')]
        qs=qs[int(sys.argv[2])::int(sys.argv[3])]
        make('xq.ken',qs,sys.argv[4],lambda q:True)
    else:
        ids={json.loads(l)["id"] for l in open('../2026-11-28-answers/validation/answers.jsonl') if json.loads(l)["questions"]=="val"}
        qs=[json.loads(l) for l in open('../../xtask/bench/answers/questions.jsonl')]
        val=[q for q in qs if q["id"] in ids]
        print(len(qs),len(val))
        qs=val if sys.argv[2]=="val" else [q for q in qs if q["id"] not in ids]
        make('manuals.ken',qs,sys.argv[3],lambda q:q["metadata"]["kind"]=="stated")
