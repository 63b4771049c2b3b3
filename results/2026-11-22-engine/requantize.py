"""Another quantization of a GGUF (PyPI: gguf).

usage: requantize.py FROM.gguf TO.gguf Q4_0|Q8_0
"""
import sys, gguf, numpy as np
from gguf import GGUFReader, GGUFWriter, GGUFValueType, GGMLQuantizationType as Q
src, dst, kind = sys.argv[1], sys.argv[2], getattr(Q, sys.argv[3])
r = GGUFReader(src)
w = GGUFWriter(dst, "llama")
for f in r.fields.values():
    if f.name.startswith("GGUF.") or f.name == "general.architecture": continue
    t = f.types[0]; sub = f.types[-1] if t == GGUFValueType.ARRAY else None
    w.add_key_value(f.name, f.contents(), t, sub_type=sub)
for t in r.tensors:
    d = gguf.quants.dequantize(t.data, t.tensor_type)
    if t.tensor_type == Q.F32: w.add_tensor(t.name, d.astype(np.float32)); continue
    q = gguf.quants.quantize(d, kind)
    w.add_tensor(t.name, q, raw_dtype=kind)
w.write_header_to_file(); w.write_kv_data_to_file(); w.write_tensors_to_file(); w.close()
