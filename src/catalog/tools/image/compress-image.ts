/** A JPEG, PNG, WebP or GIF in fewer bytes. */

import type { Tool } from '../../tool.ts';
import { compression } from '../../tool-families/picture.ts';

export const tool: Tool = {
  ...compression(
    'compress-image',
    'Makes a JPEG, PNG, WebP or GIF smaller, never larger; an animation stays one.',
    {
      en: 'shrink, reduce size, smaller, photo, kb, email, upload',
      de: 'verkleinern, kleiner machen, Foto, kB, E-Mail, hochladen',
      es: 'comprimir, reducir tamaño, más pequeño, foto, correo',
    },
    ['jpg', 'png', 'webp', 'gif'],
  ),
  mcp: {
    place: 10,
    title: 'Compress image',
    description: 'Makes a JPEG, PNG, WebP or GIF file smaller and keeps its format. Never makes it larger.',
    params: { quality: { field: 'img_quality', means: 'Lower is smaller.' } },
    shows: true,
  },
};
