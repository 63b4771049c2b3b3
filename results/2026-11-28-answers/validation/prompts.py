"""The prompts that were tried: each function takes a question and its passages, best first, and gives requests for
try_prompts. `full0`, `short0`, `mem0` and `mf0` are those that ken had; `full6` and `mf2` are those that it has now."""
def title(h):
    return ', '.join([x for x in [h.get('title','')]+(h.get('location') or {}).get('headings',[]) if x]) if False else h['full_title']
def line(n,h):
    t=title(h); return f"[{n}] {t}: {h['text']}\n" if t else f"[{n}] {h['text']}\n"
FI="""You answer questions about a collection of documents. Each message holds passages from it with their numbers in square brackets, and then a question. Answer the question from the passages.

- Say what the passages say about the question, in sentences of your own. Never tell the reader to read a passage.
- End each sentence or step with the number of the passage that it comes from, as in [1] or [2][3].
- Begin with the answer itself. If it takes several steps or choices, list them. Write commands and settings as `code`.
- Use only what the passages say. Leave out passages that are about something else.
- If none of them says anything about the question, reply "The documents do not say."
- If the message is a greeting or thanks, reply kindly in one sentence, without a number."""
CITE="\n\nCite passages by their numbers, as in [1]."
FE=[["[1] Harbour guide: The bronze bell over Orsand harbour was cast in 1734 by Maria Tolvik. Visitors may ring it from May to September: ask the harbour office for the key, climb the north stair and pull the left rope twice.\n[2] Street market: Traders meet in the square every second Saturday.\n\nQuestion: How can I ring the bell of Orsand?"+CITE,"You can ring the bell yourself from May to September [1]:\n\n1. Ask the harbour office for the key [1].\n2. Climb the north stair [1].\n3. Pull the left rope twice [1]."],
["[1] Street market: Traders meet in the square every second Saturday.\n[2] Ferry: The ferry to Laun leaves at eight and at noon.\n\nQuestion: Who was the first mayor of Orsand?"+CITE,"The documents do not say."],
["[1] Ferry: The ferry to Laun leaves at eight and at noon.\n\nQuestion: hello"+CITE,"Hello! What would you like to know?"]]
def full0(q,hits):
    e=''.join(line(i+1,h) for i,h in enumerate(hits))
    return [dict(instruction=FI,examples=FE,input=f"{e}\nQuestion: {q}{CITE}",reply="text",max_tokens=200,continuations=["The documents do not say."])]
SI="Find the answer to the question in the passages. Answer with a name, a number or a short phrase, copied from a passage. Write nothing else."
SE=[["[1] Giraffe: The giraffe of the African savanna is the tallest animal that lives on land; a grown bull reaches 5.5 metres.\n[2] Elephant: The African elephant is the heaviest land animal, at up to six tonnes.\nQuestion: what is the tallest land animal\nAnswer:","the giraffe"],
["[1] Harbour Bell: The bronze bell over Orsand harbour was cast in 1734 by Maria Tolvik. It has been rung every evening since then.\nQuestion: who made the bell of orsand harbour\nAnswer:","Maria Tolvik"],
["[1] Street market: Traders meet in the square every second Saturday.\n[2] Treaty of Laun: After three years of talks the treaty was signed on 9 May 1816, and came into force the following spring.\nQuestion: when was the treaty of laun signed\nAnswer:","9 May 1816"],
["[1] Violin: A violin has four strings, tuned in perfect fifths, and is played with a bow.\nQuestion: how many strings does a violin have\nAnswer:","four"]]
def short0(q,hits):
    e=''.join(line(i+1,h) for i,h in reversed(list(enumerate(hits))))
    return [dict(instruction=SI,examples=SE,input=f"{e}Question: {q}\nAnswer:",reply="line",max_tokens=32,stop=["\n"])]
def plain(q,hits):
    c='\n\n'.join(h['text'] for h in hits)
    return [dict(input=f"Context information is below.\n---------------------\n{c}\n---------------------\nGiven the context information and not prior knowledge, answer the query.\nQuery: {q}\nAnswer: ",reply="text",max_tokens=200)]
MI="Answer the question with a name, a number or a short phrase. Write nothing else."
ME=[["Question: what is the tallest land animal\nAnswer:","the giraffe"],["Question: who painted the ceiling of the sistine chapel\nAnswer:","Michelangelo"],["Question: when did the first world war end\nAnswer:","11 November 1918"],["Question: how many strings does a violin have\nAnswer:","four"]]
def mem0(q,hits):
    return [dict(instruction=MI,examples=ME,input=f"Question: {q}\nAnswer:",reply="line",max_tokens=32,stop=["\n"])]
# new full: no refusal in the prompt
NI="""You answer questions about a collection of documents. Each message holds passages from it with their numbers in square brackets, and then a question.

- Begin with the answer itself, in a sentence of your own that repeats names, numbers, commands and settings exactly as the passages write them.
- End each sentence or step with the number of the passage that it comes from, as in [1].
- If it takes several steps, list them. Write commands and settings as `code`. Leave out what was not asked."""
NE=[["[1] Street market: Traders meet in the square every second Saturday.\n[2] Ferry: The ferry to Laun leaves at eight and at noon. Bicycles travel free; a car costs 12 crowns unless `--permit` is set in the booking.\n\nQuestion: What does it cost to take my car over to Laun?"+CITE,"Taking a car on the ferry to Laun costs 12 crowns, unless the booking sets `--permit` [2]."],
FE[0]]
def full1(q,hits):
    e=''.join(line(i+1,h) for i,h in enumerate(hits))
    return [dict(instruction=NI,examples=NE,input=f"{e}\nQuestion: {q}{CITE}",reply="text",max_tokens=200,continuations=["The documents do not say."])]
# best passage last
def full2(q,hits):
    e=''.join(line(i+1,h) for i,h in reversed(list(enumerate(hits))))
    return [dict(instruction=NI,examples=NE,input=f"{e}\nQuestion: {q}{CITE}",reply="text",max_tokens=200)]
# yes/no: is it stated
YI="Each message holds passages and a question. Say whether the passages state the answer to the question: yes or no."
YE=[["[1] Street market: Traders meet in the square every second Saturday.\n[2] Ferry: The ferry to Laun leaves at eight and at noon.\n\nQuestion: Who was the first mayor of Orsand?\nStated:","no"],
["[1] Harbour guide: The bronze bell over Orsand harbour was cast in 1734 by Maria Tolvik.\n\nQuestion: Who made the bell of Orsand?\nStated:","yes"],
["[1] Ferry: Bicycles travel free on the ferry to Laun; a car costs 12 crowns.\n[2] Street market: Traders meet in the square every second Saturday.\n\nQuestion: How long does the ferry to Laun take?\nStated:","no"],
["[1] Street market: Traders meet in the square every second Saturday.\n[2] Ferry: Bicycles travel free on the ferry to Laun; a car costs 12 crowns.\n\nQuestion: What does it cost to take a car to Laun?\nStated:","yes"]]
def yes(q,hits):
    e=''.join(line(i+1,h) for i,h in enumerate(hits))
    return [dict(instruction=YI,examples=YE,input=f"{e}\nQuestion: {q}\nStated:",reply="line",continuations=["yes","no"])]
MFI0="You answer questions from what you know. Begin with the answer itself. If it takes several steps or choices, list them. Write commands and settings as `code`. Be brief. If you are not sure, say so, and make nothing up. If the message is a greeting or thanks, reply kindly in one sentence."
def mf0(q,hits): return [dict(instruction=MFI0,examples=[],input=f"Question: {q}",reply="text",max_tokens=150)]
MFI1="You answer questions from what you know, in one or two sentences. Begin with the answer itself. If it takes several steps, list them. Write commands and settings as `code`."
MFE1=[["Question: Who painted the ceiling of the Sistine Chapel?","Michelangelo painted the ceiling of the Sistine Chapel, from 1508 to 1512."],
["Question: How do I boil an egg?","It takes about eight minutes:\n\n1. Bring water to the boil.\n2. Put the egg in, and wait for eight minutes.\n3. Cool it under cold water."],
["Question: hello","Hello! What would you like to know?"]]
def mf1(q,hits): return [dict(instruction=MFI1,examples=MFE1,input=f"Question: {q}",reply="text",max_tokens=150)]
TI="""You answer questions about a collection of documents. Each message holds passages from it with their numbers in square brackets, and then a question.

- Begin with the answer itself: the name, number, command or setting that was asked for, written as the passages write it. Do not repeat the question.
- Add what the reader needs beside it, in a sentence or two. If it takes several steps, list them.
- Write commands and settings as `code`, and after each sentence the number of its passage, as in [1]."""
BELL="[1] Harbour guide: The bronze bell over Orsand harbour was cast in 1734 by Maria Tolvik. Visitors may ring it from May to September: ask the harbour office for the key, climb the north stair and pull the left rope twice.\n[2] Street market: Traders meet in the square every second Saturday.\n"
FERRY="[1] Street market: Traders meet in the square every second Saturday.\n[2] Ferry: The ferry to Laun leaves at eight and at noon. Bicycles travel free; a car costs 12 crowns, and must be booked with `--vehicle`.\n"
TREATY="[1] Treaty of Laun: After three years of talks the treaty was signed on 9 May 1816, and came into force the following spring.\n[2] Harbour guide: The harbour office is open until five.\n"
LOG="[1] Tide log: The log is kept in `/var/tide/log`. With `--since DATE` it prints what was measured from that day on; without it the last 30 days are printed.\n[2] Tide gauge: The gauge measures every ten minutes.\n"
def T(q,out,ev,rev,cite):
    if rev: ev='\n'.join(reversed(ev.strip().split('\n')))+'\n'
    return [f"{ev}\nQuestion: {q}{cite}",out]
def TE(rev,cite): return [
 T("What does it cost to take my car over to Laun?","12 crowns [2]. The car must be booked with `--vehicle` [2].",FERRY,rev,cite),
 T("How can I ring the bell of Orsand?","You can ring it from May to September [1]:\n\n1. Ask the harbour office for the key [1].\n2. Climb the north stair [1].\n3. Pull the left rope twice [1].",BELL,rev,cite),
 T("When was the treaty of Laun signed?","On 9 May 1816 [1]. It came into force the following spring [1].",TREATY,rev,cite),
 T("Which option shows only what the tide log holds from a certain day on?","`--since DATE` [1]. Without it the log prints the last 30 days [1].",LOG,rev,cite)]
def full3(q,hits):
    e=''.join(line(i+1,h) for i,h in enumerate(hits))
    return [dict(instruction=TI,examples=TE(False,CITE),input=f"{e}\nQuestion: {q}{CITE}",reply="text",max_tokens=160)]
def full4(q,hits):
    e=''.join(line(i+1,h) for i,h in reversed(list(enumerate(hits))))
    return [dict(instruction=TI,examples=TE(True,""),input=f"{e}\nQuestion: {q}",reply="text",max_tokens=160)]
def TC():
    out=[]
    for a,b in TE(True,""):
        out.append([a.replace("\n\nQuestion:","\nQuestion:")+"\nAnswer:",b.replace("\n\n","\n")])
    return out
TCI="Answer each question from the passages before it. Begin with the answer itself: the name, number, command or setting that was asked for, copied from a passage. Then add in a sentence what the reader needs beside it, or list the steps. Write the number of the passage after each sentence, as in [1]."
def full5(q,hits):
    e=''.join(line(i+1,h) for i,h in reversed(list(enumerate(hits))))
    return [dict(instruction=TCI,examples=TC(),input=f"{e}Question: {q}\nAnswer:",reply="line",max_tokens=160,stop=["\n\n"])]
def mf2(q,hits):
    ex=[["Question: How many strings does a violin have?\nAnswer:","A violin has four strings, tuned in perfect fifths."],
    ["Question: How do I boil an egg?\nAnswer:","It takes about eight minutes:\n1. Bring water to the boil.\n2. Put the egg in, and wait for eight minutes.\n3. Cool it under cold water."],
    ["Question: hello\nAnswer:","Hello! What would you like to know?"],
    ["Question: When did the First World War end?\nAnswer:","The First World War ended on 11 November 1918, with an armistice."]]
    return [dict(instruction="Answer each question in a sentence or two, or in steps where it takes several. Begin with the answer itself. Write commands and settings as `code`.",examples=ex,input=f"Question: {q}\nAnswer:",reply="line",max_tokens=150,stop=["\n\n"])]
def full6(q,hits):
    r=full4(q,hits)[0]
    return [dict(r,examples=[[a+"\nAnswer:",b] for a,b in r['examples']],input=r['input']+"\nAnswer:")]
def full7(q,hits): # completion form of full6
    r=full6(q,hits)[0]
    return [dict(r,reply="line",stop=["\n\nQuestion:","\n\n["])]
def mf3(q,hits): # chat form of mf2
    r=mf2(q,hits)[0]
    return [dict(r,reply="text",stop=[])]
