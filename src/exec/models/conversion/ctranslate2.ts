/** Reads the weights of a model of CTranslate2: https://github.com/OpenNMT/CTranslate2/blob/master/python/ctranslate2/specs/model_spec.py (`_serialize`). */
import type { ConstantTensor } from './onnx.ts';

/** Version of the file. */
const VERSION = 6;
/** The only accepted type of weights. */
const FLOAT16 = 4;

/** @param file of the whole model @returns tensors of 16-bit floats by name @throws RangeError for a file that ends too early */
export function readWeights(file: Buffer): ReadonlyMap<string, ConstantTensor> {
  let at = 0;
  const byte = () => file.readUInt8(at++);
  const uint32 = () => {
    at += 4;
    return file.readUInt32LE(at - 4);
  };
  const text = () => {
    const length = file.readUInt16LE(at);
    at += 2 + length;
    // It ends in NUL.
    return file.toString('utf8', at - length, at - 1);
  };
  const version = uint32();
  if (version !== VERSION) throw new RangeError(`expected version ${VERSION} of CTranslate2's files, received ${version}`);
  text();
  uint32();
  const tensors = new Map<string, ConstantTensor>();
  const count = uint32();
  for (let i = 0; i < count; i++) {
    const name = text();
    const shape = Array.from({ length: byte() }, uint32);
    const type = byte();
    const length = uint32();
    if (at + length > file.length) throw new RangeError(`expected ${length} bytes of ${name}, received ${file.length - at}`);
    if (type === FLOAT16) tensors.set(name, { type: 'float16', shape, bytes: file.subarray(at, at + length) });
    at += length;
  }
  return tensors;
}
