/** What the tools for recordings have in common: bounds, checked before anything is decoded. */
import { inputLimit } from '../../errors.ts';
import { MAX_RECORDING_SECONDS } from '../bounds.ts';
import type { Task } from '../engine.ts';
import { mediaOf } from '../engines/media/ffmpeg/streams.ts';
import { type FileBounds, type ToolTask, taskOf } from '../tool.ts';

export const recordingBounds = (maxSeconds = MAX_RECORDING_SECONDS): FileBounds => ({ maxBytes: 100 * 1024 * 1024, maxSeconds });

/** @param maxSeconds of the tool @returns the engine's task @throws Failure `input_limit` */
export function boundedRecording(order: ToolTask, maxSeconds = MAX_RECORDING_SECONDS): Task {
  const task = taskOf(order);
  const { duration = 0 } = mediaOf(task.facts);
  if (duration > maxSeconds) throw inputLimit('seconds', maxSeconds, Math.ceil(duration));
  return task;
}
