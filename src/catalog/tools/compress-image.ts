/** A JPEG, PNG, WebP or GIF in fewer bytes. */

import type { Tool } from '../tool.ts';
import { compression } from '../tool-families/picture.ts';

export const tool: Tool = compression('compress-image', 'Makes a JPEG, PNG, WebP or GIF smaller, never larger; an animation stays one.', [
  'jpg',
  'png',
  'webp',
  'gif',
]);
