/** ONNX Runtime on one thread: a slot has a processor. */
import ort from 'onnxruntime-node';

export const Tensor: typeof ort.Tensor = ort.Tensor;
export type Tensor = ort.Tensor;
export type InferenceSession = ort.InferenceSession;

/** @param model absolute path of a file, or its content */
export function openSession(model: string | Uint8Array): Promise<InferenceSession> {
  ort.env.logLevel = 'error';
  const options: ort.InferenceSession.SessionOptions = {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    // It keeps what it has freed.
    enableCpuMemArena: false,
    logSeverityLevel: 3,
  };
  return typeof model === 'string' ? ort.InferenceSession.create(model, options) : ort.InferenceSession.create(model, options);
}
