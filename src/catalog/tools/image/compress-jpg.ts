/** A JPEG in fewer bytes. */

import type { Tool } from '../../tool.ts';
import { compression } from '../../tool-families/picture.ts';

export const tool: Tool = compression(
  'compress-jpg',
  'Makes a JPEG smaller, never larger.',
  { en: 'shrink, smaller, jpeg, photo', de: 'verkleinern, kleiner machen, JPEG, Foto', es: 'comprimir, más pequeño, JPEG, foto, reducir' },
  ['jpg'],
);
