/** A black-and-white photo in colours. */
import { z } from 'zod';
import { coloured, engine as ddcolor } from '../../engines/photos/colourise.ts';
import { modelName } from '../../options/fields.ts';
import type { Tool } from '../../tool.ts';
import { PHOTO, photoTarget } from '../../tool-families/photo.ts';

/** Formats with nothing but shades of grey. */
const WITHOUT_COLOURS = new Set(['pgm', 'fits', 'vicar', 'pgx']);
const target = (sources: readonly string[]): string => (WITHOUT_COLOURS.has(photoTarget(sources)) ? 'png' : photoTarget(sources));

export const tool: Tool = {
  slug: 'colorize-photo',
  summary: 'Colours a black-and-white photo.',
  search: {
    en: 'black and white, colour, color, old photo',
    de: 'schwarz-weiß, einfärben, Farbe, altes Foto',
    es: 'blanco y negro, color, foto antigua',
  },
  ...PHOTO,
  input: z.object({ model: modelName.optional() }),
  example: { model: ddcolor.name },
  texts: { model: { means: `What tells the colours: ${ddcolor.name}.` } },
  daily: 50,
  mcp: { place: 3, title: 'Colorize photo', description: 'Colorizes a black-and-white photo.' },
  work: { target, methods: [{ engine: ddcolor, plan: coloured }] },
};
