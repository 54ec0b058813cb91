/** Judges pictures: of the format that they claim, and showing the grid of their seed. */
import { CELLS, phaseOf, sceneOf } from '../../catalog/scene.ts';
import { expectGrid } from './grid.ts';
import { decode } from './pixels.ts';

/** @throws unless the file is really of that format and shows that seed's picture; an animation must show all its phases */
export async function judge(path: string, format: string, seed: string): Promise<void> {
  const scene = sceneOf(seed);
  const frames = await decode(path, format, ['gif', 'apng', 'webp'].includes(format) ? 100 : 1);
  const [first] = frames;
  if (first === undefined) throw new Error('the picture has no frame');
  expectGrid(first, scene.cells);
  if (frames.length < 2) return;
  for (let phase = 1; phase < CELLS; phase++) {
    const frame = frames[Math.floor(((phase + 0.5) * frames.length) / CELLS)];
    if (frame !== undefined) expectGrid(frame, phaseOf(scene, phase));
  }
}
