/** The same program with IS-Net, whose masks are finer, and which an operator has to bring. */
import type { Engine } from '../../engine.ts';
import { around, engine as matte } from './matte.ts';

const MODEL = 'isnet-general-use';

export const engine: Engine = { ...matte, id: 'matte-fine', name: MODEL, binaries: around([MODEL]) };
