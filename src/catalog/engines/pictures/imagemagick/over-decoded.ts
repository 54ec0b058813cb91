/** Plans of engines for a picture that another program has decoded first. */
import type { Plan, Step, Task } from '../../../engine.ts';

/** @param decode writes a PNG to the path that it is given @param work the plan for that PNG */
export function overDecoded(task: Task, decode: (png: string) => readonly Step[], work: (task: Task) => Plan): Plan {
  const png = `${task.scratch}/decoded.png`;
  const plan = work({ ...task, source: 'png', input: png });
  return { ...plan, steps: [...decode(png), ...plan.steps] };
}
