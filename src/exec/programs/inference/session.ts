/** ONNX Runtime: on the GPU that the worker found, else on one thread, since a slot has a processor. */
import ort from 'onnxruntime-node';

/** Its builds send what they run to Microsoft unless this is set (since 1.29, core/platform/posix/telemetry.cc). It is read when the first session opens. */
process.env['ORT_DISABLE_TELEMETRY'] = '1';

export const Tensor: typeof ort.Tensor = ort.Tensor;
export type Tensor = ort.Tensor;
export type InferenceSession = ort.InferenceSession;
type Provider = ort.InferenceSession.ExecutionProviderConfig;

/** How many GPUs of NVIDIA's this process may use (`exec/confine/devices.ts`). Processes spread over them. */
const gpus = Number(process.env['CUDA_DEVICES'] ?? 0);
export const CUDA: Provider = { name: 'cuda', deviceId: gpus > 1 ? process.pid % gpus : 0 };
let usual: Provider = gpus > 0 ? CUDA : 'cpu';

/** On the usual device. The worker tried it when it started; where it has no room now, the processor computes. @param model absolute path of a file, or its content */
export async function openSession(model: string | Uint8Array): Promise<InferenceSession> {
  try {
    return await openSessionOn(usual, model);
  } catch (error) {
    if (usual === 'cpu') throw error;
    usual = 'cpu';
    process.stderr.write(`the GPU cannot be used, so the processor is: ${(error as Error).message}\n`);
    return openSessionOn(usual, model);
  }
}

/** @throws Error where this build of ONNX Runtime has no such provider, or that has no device */
export function openSessionOn(provider: Provider, model: string | Uint8Array): Promise<InferenceSession> {
  ort.env.logLevel = 'error';
  const options: ort.InferenceSession.SessionOptions = {
    executionProviders: [provider],
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    // It keeps what it has freed.
    enableCpuMemArena: false,
    logSeverityLevel: 3,
  };
  return typeof model === 'string' ? ort.InferenceSession.create(model, options) : ort.InferenceSession.create(model, options);
}
