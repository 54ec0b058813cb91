/** Tensors of numbers, whichever width a graph wants: some are published with 16-bit inputs and outputs. */
import { Tensor } from './session.ts';

/** @param type as ONNX Runtime calls it: `float16`, else 32 bits */
export function floatTensor(type: string | undefined, data: Float32Array, shape: readonly number[]): Tensor {
  if (type !== 'float16') return new Tensor('float32', data, shape);
  const { buffer, length } = new Float16Array(data);
  // Its types take a Float16Array, and its native part reads that as empty (1.29): it is given the bits, under the right name.
  return Object.assign(new Tensor('uint16', new Uint16Array(buffer, 0, length), shape), { type }) as Tensor;
}

/** Numbers of a result, however wide. @param tensor undefined for a result that the graph does not have */
export function floatsIn(tensor: Tensor | undefined): Float32Array {
  const { data } = tensor ?? {};
  if (data instanceof Float32Array) return data;
  if (data instanceof Float16Array || data instanceof Uint8Array) return Float32Array.from(data);
  if (data instanceof Uint16Array) return Float32Array.from(new Float16Array(data.buffer, data.byteOffset, data.length));
  throw new Error(`expected a tensor of numbers, received ${tensor?.type ?? 'none'}`);
}
