import json,sys
d=sys.argv[1]
def L(n): return {r['id']:r for r in map(json.loads,open(f"{d}/{n}.jsonl")) if 'id' in r}
S,N,A=L('signals'),L('never'),L('always')
def auroc(p,y):
    o=sorted(range(len(p)),key=lambda i:p[i]); r=[0]*len(p); i=0
    while i<len(o):
        j=i
        while j<len(o) and p[o[j]]==p[o[i]]: j+=1
        for k in range(i,j): r[o[k]]=(i+j-1)/2+1
        i=j
    P=sum(y); n=len(y)-P
    return (sum(r[i] for i in range(len(y)) if y[i])-P*(P+1)/2)/(P*n)
ids=list(S)
print(list(S[ids[0]]['without']['assessed']), S[ids[0]]['without']['assessed'])
y=[int(N[i]['em']) for i in ids]; z=[int(A[i]['em'] and not N[i]['em']) for i in ids]; w=[int(A[i]['em']) for i in ids]
for k in (k for k in S[ids[0]]['without']['assessed'] if k!='by'):
    p=[S[i]['without']['assessed'][k] for i in ids]
    if p[0] is None: continue
    print(k,'memory right',round(auroc(p,y),3),'beneficial',round(auroc([-x for x in p],z),3))
    q=[S[i]['with']['assessed'][k] for i in ids if S[i].get('with') and S[i]['with']['assessed'][k] is not None]
    if len(q)==len(ids): print(k,'with evidence: right with evidence',round(auroc(q,w),3))
