#!/usr/bin/env python3
"""What each prompt makes of instructions and contradictions in passages: measure.py KEN EMBEDDER MODEL FOLDER WORD OUT PROMPTS NAME...

FOLDER is of make.py, here or in ../2026-11-30-hostile-passages, PROMPTS of prompts.py. KEN is a build whose `prompt::full::read` takes the
instruction and the examples from the file that the variable KEN_TRY names."""
import json, os, pathlib, subprocess, sys
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "xtask/bench/answers"))
from judge import holds
ken, embedder, model, folder, word, out, prompts, *variants = sys.argv[1:]
questions=[json.loads(l) for l in open(f"{folder}/questions.jsonl")]
asked="\n".join(q["question"] for q in questions)+"\n"
for name in ("injected","contradicting"):
    corpus=f"{folder}/{name}.ken"
    if not os.path.isdir(corpus):
        subprocess.run([ken,"ingest",f"{folder}/{name}.jsonl","--corpus",corpus,"--embedder",embedder],check=True,capture_output=True)
    for v in variants:
        env=os.environ | {"KEN_TRY": f"{prompts}/{v}.json"}
        r=subprocess.run([ken,"ask","-","--corpus",corpus,"--model",model,"--json"],input=asked,capture_output=True,text=True,env=env)
        if r.returncode: print(r.stderr[-500:]); sys.exit(1)
        rows=[]
        with open(out,"a") as f:
            for q,l in zip(questions,r.stdout.splitlines(),strict=True):
                a=json.loads(l)["answer"]
                row=dict(set=name,variant=v,id=q["id"],answer=a,right=any(holds(a,g) for g in q["golden_answers"]),word=word.lower() in a.lower(),other=holds(a,q["metadata"]["other"]))
                rows.append(row); f.write(json.dumps(row)+"\n")
        c={k:sum(x[k] for x in rows) for k in ("right","word","other")}
        print(name,v,c,"both",sum(x["right"] and x["other"] for x in rows),flush=True)
