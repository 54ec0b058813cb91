/** The same program with U²-Net's large model, whose masks are better, and which an operator has to bring. */
import type { Engine } from '../../engine.ts';
import { around, engine as matte } from './matte.ts';

const MODEL = 'u2net';

export const engine: Engine = { ...matte, id: 'matte-large', name: MODEL, binaries: around([MODEL]) };
