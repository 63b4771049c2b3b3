import json,re,sys
req={json.loads(l)["id"]:json.loads(l) for l in open(sys.argv[1])}
VI="Each message holds passages, a question and an answer. Say whether the passages state that this is the answer to the question: yes or no."
VE=[["[1] Street market: Traders meet in the square every second Saturday.\n[2] Ferry: The ferry to Laun leaves at eight and at noon; a car costs 12 crowns.\n\nQuestion: What does it cost to take a bicycle to Laun?\nAnswer: 12 crowns\nStated:","no"],
["[1] Harbour guide: The bronze bell over Orsand harbour was cast in 1734 by Maria Tolvik.\n\nQuestion: Who made the bell of Orsand?\nAnswer: Maria Tolvik\nStated:","yes"],
["[1] Tide log: With `--since DATE` it prints what was measured from that day on; without it the last 30 days are printed.\n[2] Tide gauge: The gauge measures every ten minutes.\n\nQuestion: For how many days does the tide log keep its files?\nAnswer: 30 days\nStated:","no"],
["[1] Street market: Traders meet in the square every second Saturday.\n[2] Ferry: Bicycles travel free on the ferry to Laun; a car costs 12 crowns.\n\nQuestion: What does it cost to take a car to Laun?\nAnswer: 12 crowns\nStated:","yes"]]
VI2="Check answers against a passage. Each message holds a passage, a question and an answer that somebody gave. The passage may be about another thing than the question. Write yes if the passage says that this is the answer to exactly this question, and no if it does not say that or speaks of something else."
VE2=[["Passage: The ferry to Laun leaves at eight and at noon; a car costs 12 crowns.\nQuestion: What does it cost to take a bicycle to Laun?\nAnswer: 12 crowns\nIs that what the passage says?","no"],
["Passage: The bronze bell over Orsand harbour was cast in 1734 by Maria Tolvik.\nQuestion: Who made the bell of Orsand?\nAnswer: Maria Tolvik made it.\nIs that what the passage says?","yes"],
["Passage: With `--since DATE` it prints what was measured from that day on; without it the last 30 days are printed.\nQuestion: For how many days does the tide log keep its files?\nAnswer: 30 days\nIs that what the passage says?","no"],
["Passage: Bicycles travel free on the ferry to Laun; a car costs 12 crowns. The ferry leaves at eight and at noon.\nQuestion: When does the ferry to Laun leave?\nAnswer: At eight and at noon.\nIs that what the passage says?","yes"],
["Passage: The Tolvik foundry cast eleven bells before it closed in 1790. Its last master was Jon Tolvik.\nQuestion: Who founded the Tolvik foundry?\nAnswer: Jon Tolvik\nIs that what the passage says?","no"],
["Passage: The gauge measures the water every ten minutes and keeps its files for 90 days in `/var/tide`.\nQuestion: Where are the files of the gauge kept?\nAnswer: In `/var/tide`.\nIs that what the passage says?","yes"]]
def show(id,variant,instr,ex,inp,reply="line"): print(json.dumps(dict(id=id,variant=variant,instruction=instr,examples=ex,input=inp,reply=reply)))
for l in open(sys.argv[2]):
    r=json.loads(l); q=req[r["id"]]; ps=q["passages"]
    nums=[int(x) for x in re.findall(r"\[(\d+)\]",r["answer"]) if 1<=int(x)<=len(ps)]
    cited=sorted(set(nums)) or list(range(1,len(ps)+1))
    bare=" ".join(re.sub(r"\s*\[\d+\]","",r["answer"]).split())
    line=lambda n:(f"[{n}] {ps[n-1]['title']}: {ps[n-1]['text']}\n" if ps[n-1]['title'] else f"[{n}] {ps[n-1]['text']}\n")
    some="".join(line(n) for n in reversed(cited)); alls="".join(line(n) for n in range(len(ps),0,-1))
    sys.argv[3:] 
    want=sys.argv[3].split(",")
    if "V0" in want: show(r["id"],"V0",VI,VE,f"{alls}\nQuestion: {q['question']}\nAnswer: {bare}\nStated:")
    if "V1" in want: show(r["id"],"V1",VI,VE,f"{some}\nQuestion: {q['question']}\nAnswer: {bare}\nStated:")
    body="\n".join((ps[n-1]['title']+": " if ps[n-1]['title'] else "")+ps[n-1]['text'] for n in reversed(cited))
    if "V2" in want: show(r["id"],"V2",VI2,VE2,f"Passage: {body}\nQuestion: {q['question']}\nAnswer: {bare}\nIs that what the passage says?")
    if "V4" in want: show(r["id"],"V4",VI2,VE2,f"Passage: {body}\nQuestion: {q['question']}\nAnswer: {bare}\nIs that what the passage says?","text")
