/** Portraits by U²-Net's large model, whose masks are better, and which an operator has to bring. */
import type { Engine } from '../../engine.ts';
import { around } from './matte.ts';
import { engine as portrait } from './portrait.ts';

export const engine: Engine = {
  ...portrait,
  id: 'portrait-large',
  name: 'u2net and centerface',
  binaries: around(['u2net', 'centerface']),
};
