/** Models of ONNX that take one picture. */
import { join } from 'node:path';
import { openSession, Tensor } from '../../inference/session.ts';

export type Inference = (input: Float32Array, shape: readonly number[]) => Promise<readonly Float32Array[]>;

/** @param folder of the model @param outputs names of the wanted ones, in order @returns what runs it */
export async function loadModel(
  folder: string,
  file: string,
  outputs: readonly string[],
  freed: readonly Shape[] = [],
): Promise<Inference> {
  const session = await openSession(join(folder, file), freed.length === 0 ? undefined : (model) => withFreeSizes(model, freed));
  const [input = ''] = session.inputNames;
  return async (data, shape) => {
    const results = await session.run({ [input]: new Tensor('float32', data, shape) }, outputs);
    return outputs.map((name) => (results[name] as Tensor).data as Float32Array);
  };
}

/** Shape of a tensor in a model's file: samples, channels, height, width. */
export type Shape = readonly [number, number, number, number];

/** A dimension of a fixed size in a file (onnx.proto, TensorShapeProto.Dimension.dim_value): its length, its field, its value below 128. */
const dimension = (size: number): number[] => [0x0a, 2, 0x08, size];
/** A field that the format does not know: the size is free. */
const UNKNOWN_FIELD = 0x78;

/** Exporters write the size of the picture that they tried into a model that takes any. @param freed shapes whose samples, height and width become free */
export function withFreeSizes(model: Uint8Array, freed: readonly Shape[]): Uint8Array {
  const bytes = Buffer.from(model);
  for (const shape of freed) {
    const written = Buffer.from(shape.flatMap(dimension));
    const at = bytes.indexOf(written);
    if (at < 0) throw new Error(`expected a model with a tensor of ${shape.join(' × ')}`);
    for (const free of [0, 2, 3]) bytes[at + 4 * free + 2] = UNKNOWN_FIELD;
  }
  return bytes;
}
