/** A picture without its background. */
import { z } from 'zod';
import { matted } from '../../engines/photos/matte.ts';
import type { Tool } from '../../tool.ts';
import { PHOTO, retouched } from '../../tool-families/photo.ts';
import { bySubject, SUBJECT_MODEL_TEXT, subjectModel } from '../../tool-families/subject.ts';

export const tool: Tool = {
  slug: 'remove-background',
  summary: 'Removes the background of a picture.',
  search: {
    en: 'cut out background, transparent, erase background, knock out, product photo, logo',
    de: 'Hintergrund entfernen, freistellen, ausschneiden, durchsichtig, transparent',
    es: 'quitar fondo, recortar fondo, borrar fondo, transparente',
  },
  ...PHOTO,
  input: z.object({ model: subjectModel }),
  example: { model: 'u2net' },
  texts: { model: SUBJECT_MODEL_TEXT },
  daily: 100,
  mcp: { place: 2, title: 'Remove background', description: 'Removes the background of an image: a transparent PNG.' },
  work: {
    target: () => 'png',
    methods: bySubject(
      (order) => matted(order, 'cut'),
      (order) => retouched(order, 'cut'),
    ),
  },
};
