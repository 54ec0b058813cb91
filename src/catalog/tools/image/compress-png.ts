/** A PNG in fewer bytes: with fewer colours, but for the best quality. */

import type { Tool } from '../../tool.ts';
import { compression } from '../../tool-families/picture.ts';

export const tool: Tool = compression(
  'compress-png',
  'Makes a PNG smaller, never larger: below quality 100 with at most 256 colours.',
  {
    en: 'shrink, smaller, screenshot',
    de: 'verkleinern, kleiner machen, Bildschirmfoto',
    es: 'comprimir, más pequeño, captura de pantalla, reducir',
  },
  ['png'],
);
