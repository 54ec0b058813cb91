/** A picture before another background. */
import { z } from 'zod';
import { Failure } from '../../../errors.ts';
import type { Plan, Step } from '../../engine.ts';
import { matted, matteOver } from '../../engines/photos/matte.ts';
import { planRetouch, resultIn, retouch } from '../../engines/photos/retouch.ts';
import { boundedSides } from '../../engines/pictures/imagemagick/inspect.ts';
import { colour } from '../../options/fields.ts';
import { type Tool, type ToolTask, taskOf } from '../../tool.ts';
import { decodeBeside, PHOTO, photoTarget, retouched } from '../../tool-families/photo.ts';
import { bySubject, SUBJECT_MODEL_TEXT, subjectModel } from '../../tool-families/subject.ts';

const WHITE = '#ffffff';
const input = z.object({ color: colour.optional(), model: subjectModel });

export const tool: Tool = {
  slug: 'change-background',
  summary: 'Puts the subject of a picture before another picture, or before a plain colour.',
  search: {
    en: 'replace background, white background, new background',
    de: 'Hintergrund tauschen, weißer Hintergrund, anderer Hintergrund',
    es: 'cambiar fondo, fondo blanco, sustituir fondo',
  },
  ...PHOTO,
  files: { fields: ['file', 'background'], min: 1, max: 2, inOrder: true },
  input,
  example: { color: '#ffffff' },
  texts: {
    color: { means: 'Colour of the new background, where no picture is sent; white unless given.' },
    model: SUBJECT_MODEL_TEXT,
  },
  daily: 100,
  work: {
    target: (sources, given) => {
      if (sources.length > 1 && given['color'] !== undefined)
        throw new Failure('BAD_REQUEST', { says: 'Send either a picture in the field "background" or a colour, not both.' });
      return photoTarget(sources);
    },
    methods: bySubject(
      (order) => replaced(order, matteOver) ?? matted(order, 'over', [colourOf(order)]),
      (order) =>
        replaced(order, (photo, beside, result) => retouch('over', photo, result, beside)) ?? retouched(order, 'over', colourOf(order)),
    ),
  },
};

const colourOf = ({ input: given }: ToolTask): string => (given as z.output<typeof input>).color ?? WHITE;

/** @param over the step for a photo, the picture that it gets behind it, and the result @returns undefined where no second picture was sent */
function replaced(order: ToolTask, over: (photo: string, beside: string, result: string) => Step): Plan | undefined {
  const [photo, background] = order.sources;
  if (photo === undefined || background === undefined) return undefined;
  for (const source of [photo, background]) boundedSides(source);
  const beside = decodeBeside(order, background, 'background');
  return planRetouch(taskOf(order), (picture) => [...beside.steps, over(picture, beside.picture, resultIn(order.scratch))]);
}
