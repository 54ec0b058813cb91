/** ONNX Runtime on one thread: a slot has a processor. */
import ort from 'onnxruntime-node';

/** Its builds send what they run to Microsoft unless this is set (since 1.29, core/platform/posix/telemetry.cc). It is read when the first session opens. */
process.env['ORT_DISABLE_TELEMETRY'] = '1';

export const Tensor: typeof ort.Tensor = ort.Tensor;
export type Tensor = ort.Tensor;
export type InferenceSession = ort.InferenceSession;

/** @param model absolute path of a file, or its content @param device cpu, or another that this build of ONNX Runtime has */
export function openSession(model: string | Uint8Array, device = 'cpu'): Promise<InferenceSession> {
  ort.env.logLevel = 'error';
  const options: ort.InferenceSession.SessionOptions = {
    executionProviders: [device],
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    // It keeps what it has freed.
    enableCpuMemArena: false,
    logSeverityLevel: 3,
  };
  return typeof model === 'string' ? ort.InferenceSession.create(model, options) : ort.InferenceSession.create(model, options);
}
