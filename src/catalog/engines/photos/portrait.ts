/** The same program with a second model, which finds faces: makes portraits as passports want them. */
import type { Engine } from '../../engine.ts';
import { around, engine as matte } from './matte.ts';

export const engine: Engine = { ...matte, id: 'portrait', name: 'u2netp and centerface', binaries: around(['u2netp', 'centerface']) };
