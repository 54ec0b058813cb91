/** A WebP in fewer bytes, its frames kept. */

import type { Tool } from '../../tool.ts';
import { compression } from '../../tool-families/picture.ts';

export const tool: Tool = compression(
  'compress-webp',
  'Makes a WebP smaller, never larger; an animation stays one.',
  { en: 'shrink, smaller, website', de: 'verkleinern, kleiner machen, Webseite', es: 'comprimir, más pequeño, sitio web, reducir' },
  ['webp'],
);
