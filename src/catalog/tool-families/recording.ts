/** What the tools for recordings have in common: bounds, checked before anything is decoded. */
import { inputLimit } from '../../errors.ts';
import type { Task } from '../engine.ts';
import { mediaOf } from '../engines/ffmpeg/streams.ts';
import type { FileBounds, ToolTask } from '../tool.ts';
import { taskOf } from './media.ts';

/** Of a recording whose noise or vocals are taken out. */
export const MAX_RECORDING_SECONDS = 30 * 60;
export const RECORDING_BOUNDS: FileBounds = { maxBytes: 100 * 1024 * 1024, maxSeconds: MAX_RECORDING_SECONDS };

/** @param maxSeconds of the tool @returns the engine's task @throws Failure `input_limit` */
export function boundedRecording(order: ToolTask, maxSeconds = MAX_RECORDING_SECONDS): Task {
  const task = taskOf(order);
  const { duration = 0 } = mediaOf(task.facts);
  if (duration > maxSeconds) throw inputLimit('seconds', maxSeconds, Math.ceil(duration));
  return task;
}
