/** A GIF in fewer bytes, its frames kept. */

import type { Tool } from '../../tool.ts';
import { compression } from '../../tool-families/picture.ts';

export const tool: Tool = compression(
  'compress-gif',
  'Makes a GIF smaller, never larger: fewer colours, and small changes between frames left out.',
  { en: 'shrink, smaller, animation', de: 'verkleinern, kleiner machen, Animation', es: 'comprimir, más pequeño, animación, reducir' },
  ['gif'],
);
