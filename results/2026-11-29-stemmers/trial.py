import glob,re,math,unicodedata,random,snowballstemmer
from bs4 import BeautifulSoup
from collections import Counter
NAMES={'de':'german','fr':'french','es':'spanish','it':'italian','pt':'portuguese'}
def fold(w): return ''.join(c for c in unicodedata.normalize('NFKD',w.replace('ß','ss')) if not unicodedata.combining(c))
def sections(lang):
    out=[]
    for f in sorted(glob.glob(f'x_debian-reference-{lang}/usr/share/debian-reference/*.{lang}.html')+glob.glob(f'x_developers-reference-{lang}/**/*.html',recursive=True)):
        soup=BeautifulSoup(open(f,encoding='utf8',errors='ignore'),'html.parser')
        for h in soup.find_all(['h1','h2','h3','h4']):
            title=re.sub(r'^[\d\.\s]+','',h.get_text(' ',strip=True)).strip('¶ ')
            body=[]
            for e in h.find_all_next(['p','h1','h2','h3','h4','pre','td','li']):
                if e.name[0]=='h' : break
                body.append(e.get_text(' ',strip=True))
                if sum(len(b.split()) for b in body)>100: break
            text=' '.join(body)
            if len(title.split())>=2 and len(text.split())>=40: out.append((title,' '.join(text.split()[:120])))
    seen={}
    for t,b in out: seen.setdefault(t,b)
    return list(seen.items())
def terms(text,stem,mode):
    ws=re.findall(r"\w+",text.lower())
    if mode=='folded': return [stem(fold(w)) for w in ws]
    return [fold(stem(w)) for w in ws]
def ranks(docs,queries,stem,mode,stemq=None):
    D=[Counter(terms(b,stem,mode)) for _,b in docs]; L=[sum(d.values()) for d in D]; A=sum(L)/len(L)
    df=Counter(t for d in D for t in d); N=len(D); r=[]
    for i,q in enumerate(queries):
        qt=set(terms(q,stem,mode))
        def s(d,l): return sum(math.log(1+(N-df[t]+.5)/(df[t]+.5))*d[t]*2.2/(d[t]+1.2*(.25+.75*l/A)) for t in qt if t in d)
        sc=[s(d,l) for d,l in zip(D,L)]
        r.append(sum(x>sc[i] for x in sc)+1 if sc[i]>0 else 10**6)
    return r
for lang,name in NAMES.items():
    docs=sections(lang); q=[t for t,_ in docs]
    en=snowballstemmer.stemmer('english').stemWord; own=snowballstemmer.stemmer(name).stemWord
    base=ranks(docs,q,en,'folded'); a=ranks(docs,q,own,'folded'); b=ranks(docs,q,own,'accented'); none=ranks(docs,q,lambda w:w,'folded')
    def at(r,k): return sum(x<=k for x in r)/len(r)
    def ci(x,y,k):
        d=[(u<=k)-(v<=k) for u,v in zip(x,y)]; rnd=random.Random(1); m=sorted(sum(rnd.choices(d,k=len(d)))/len(d) for _ in range(1000)); return f"{sum(d)/len(d):+.3f} [{m[25]:+.3f},{m[975]:+.3f}]"
    print(lang,len(docs),*(f"{n} @1 {at(r,1):.3f} @3 {at(r,3):.3f} @10 {at(r,10):.3f};" for n,r in [('none',none),('english',base),('own folded',a),('own accented',b)]),'own-en @3',ci(a,base,3),'acc-en @3',ci(b,base,3),'acc-en @10',ci(b,base,10))
