/** The same program with LaMa, which is better and slower, and which an operator has to bring. */
import type { Engine } from '../../engine.ts';
import { inpaintingBy, engine as migan } from './inpaint.ts';

const MODEL = 'lama';

export const engine: Engine = { ...migan, id: 'inpaint-large', name: MODEL, binaries: inpaintingBy(MODEL) };
