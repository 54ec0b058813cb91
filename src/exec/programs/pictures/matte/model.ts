/** Models of ONNX that take one picture. */
import { join } from 'node:path';
import { openSession } from '../../inference/session.ts';
import { floatsIn, floatTensor } from '../../inference/tensors.ts';

export type Inference = (input: Float32Array, shape: readonly number[]) => Promise<readonly Float32Array[]>;

/** @param folder of the model @param wanted names of outputs, in order; unset: its first @returns what runs it */
export async function loadModel(
  folder: string,
  file: string,
  wanted?: readonly string[],
  freed: readonly Shape[] = [],
): Promise<Inference> {
  const session = await openSession(join(folder, file), freed.length === 0 ? undefined : (model) => withFreeSizes(model, freed));
  const [input] = session.inputs;
  const outputs = wanted ?? session.outputNames.slice(0, 1);
  return async (data, shape) => {
    const results = await session.run({ [input?.name ?? '']: floatTensor(input?.type, data, shape) }, outputs);
    return outputs.map((name) => floatsIn(results[name]));
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
