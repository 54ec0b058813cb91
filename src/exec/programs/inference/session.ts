/** ONNX Runtime: on the GPU that the worker found, else on as many threads as the slot has processors. */
import { readFileSync } from 'node:fs';
import ort from 'onnxruntime-node';

/** Its builds send what they run to Microsoft unless this is set (since 1.29, core/platform/posix/telemetry.cc). It is read when the first session opens. */
process.env['ORT_DISABLE_TELEMETRY'] = '1';

export const Tensor: typeof ort.Tensor = ort.Tensor;
export type Tensor = ort.Tensor;
type Provider = ort.InferenceSession.ExecutionProviderConfig;
type Tensors = Readonly<Record<string, Tensor>>;

/** What a graph wants: a dimension that the caller chooses has a name, or is below 1. */
export interface InputTensor {
  readonly name: string;
  readonly type: string;
  readonly shape: readonly (number | string)[];
}

/** A graph that is ready to run. */
export interface LoadedModel {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  /** In the same order. */
  readonly inputs: readonly InputTensor[];
  /** @param wanted names of outputs; unset: all */
  run(inputs: Tensors, wanted?: readonly string[]): Promise<Tensors>;
}

/** How many GPUs of NVIDIA's this process may use (`exec/confine/devices.ts`). Processes spread over them. */
const gpus = Number(process.env['CUDA_DEVICES'] ?? 0);
export const CUDA: Provider = { name: 'cuda', deviceId: gpus > 1 ? process.pid % gpus : 0 };

/** Threads that compute (`exec/confine/confine.ts`); unset where no worker starts this program. */
const threads = Number(process.env['MODEL_THREADS'] ?? 1);

/** Sessions of model files, by device and path: all requests of this process reuse them. */
const kept = new Map<string, Promise<ort.InferenceSession>>();
/** Why the processor does the work of this request, although there is a GPU. */
let refusal: string | undefined;

/**
 * On the GPU, which the worker tried when it started. Where it has no room now, neither for the model nor for what it computes, the processor does
 * the work of this request.
 * @param model absolute path of a file, or its content @param adapt what is read from a file, before it is used; the same each time
 */
export async function openSession(model: string | Uint8Array, adapt?: (file: Uint8Array) => Uint8Array): Promise<LoadedModel> {
  const withSession = async <T>(work: (session: ort.InferenceSession) => T | Promise<T>): Promise<T> => {
    if (gpus > 0 && refusal === undefined)
      try {
        return await work(await keptSession(CUDA, model, adapt));
      } catch (error) {
        refusal = (error as Error).message;
      }
    return work(await keptSession('cpu', model, adapt));
  };
  const { inputNames, outputNames, inputMetadata } = await withSession((session) => session);
  return {
    inputNames,
    outputNames,
    inputs: inputMetadata.flatMap((input) => (input.isTensor ? [input] : [])),
    run: (inputs, wanted = outputNames) => withSession((session) => session.run(inputs, wanted)),
  };
}

/** Why the GPU did not do the work of the request that ends here, if it did not. The next one tries it again. */
export function takeRefusal(): string | undefined {
  const taken = refusal;
  if (taken !== undefined) kept.clear();
  refusal = undefined;
  return taken;
}

function keptSession(
  provider: Provider,
  model: string | Uint8Array,
  adapt?: (file: Uint8Array) => Uint8Array,
): Promise<ort.InferenceSession> {
  if (typeof model !== 'string') return openSessionOn(provider, model);
  const key = `${typeof provider === 'string' ? provider : provider.name} ${model}`;
  return kept.getOrInsertComputed(key, () => openSessionOn(provider, adapt === undefined ? model : adapt(readFileSync(model))));
}

/** @throws Error where this build of ONNX Runtime has no such provider, or that has no device */
export function openSessionOn(provider: Provider, model: string | Uint8Array): Promise<ort.InferenceSession> {
  ort.env.logLevel = 'error';
  const options: ort.InferenceSession.SessionOptions = {
    executionProviders: [provider],
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    // It keeps what it has freed.
    enableCpuMemArena: false,
    logSeverityLevel: 3,
  };
  return typeof model === 'string' ? ort.InferenceSession.create(model, options) : ort.InferenceSession.create(model, options);
}
