import json,sys
from collections import defaultdict
d=defaultdict(list)
for l in open('truth.jsonl'):
    t=json.loads(l); m=t['metadata']
    if m['kind']=='plain': d[m['gold_passage']].append(t['probability']['self'])
left={json.loads(l)['id'].split('#')[0] for l in open(sys.argv[1])}
gone=[v for k,v in d.items() if k not in left]
f=[x for v in gone for x in v]
print(sys.argv[2],'removed',len(gone),'facts in them truly known',round(sum(x>=.5 for x in f)/len(f),3),'documents wholly known',round(sum(min(v)>=.5 for v in gone)/len(gone),3))
