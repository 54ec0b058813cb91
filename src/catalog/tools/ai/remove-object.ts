/** A picture without something that it shows. */
import { z } from 'zod';
import { Failure, misfit } from '../../../errors.ts';
import type { Plan, Step } from '../../engine.ts';
import { inpaint, engine as migan } from '../../engines/photos/inpaint.ts';
import { engine as lama } from '../../engines/photos/inpaint-large.ts';
import { engine as classical, planRetouch, resultIn, retouch } from '../../engines/photos/retouch.ts';
import { boundedSides } from '../../engines/pictures/imagemagick/inspect.ts';
import { integer, modelName } from '../../options/fields.ts';
import { refuseField, type Tool, type ToolTask, taskOf } from '../../tool.ts';
import { decodeBeside, PHOTO, photoTarget } from '../../tool-families/photo.ts';

const SIDES = ['x', 'y', 'w', 'h'] as const;
const LONGEST = 16_000;
const input = z.object({
  x: integer(0, LONGEST, ' px').optional(),
  y: integer(0, LONGEST, ' px').optional(),
  w: integer(1, LONGEST, ' px').optional(),
  h: integer(1, LONGEST, ' px').optional(),
  model: modelName.optional(),
});

export const tool: Tool = {
  slug: 'remove-object',
  summary: 'Removes what a mask or a rectangle covers from a picture, and fills the place with what is around it.',
  search: {
    en: 'erase, delete person, retouch, watermark, heal, clean up',
    de: 'wegradieren, Person entfernen, retuschieren, Wasserzeichen',
    es: 'borrar, eliminar persona, retocar, marca de agua',
  },
  ...PHOTO,
  widget: 'brush',
  files: { fields: ['file', 'mask'], min: 1, max: 2, inOrder: true },
  input,
  example: { x: '100', y: '50', w: '200', h: '150' },
  texts: {
    x: { means: 'Left edge of the rectangle: what it covers is removed, where no mask is sent.' },
    y: { means: 'Top edge of the rectangle.' },
    w: { means: 'Width of the rectangle.' },
    h: { means: 'Height of the rectangle.' },
    model: {
      means: `What fills the place: ${lama.name} or ${migan.name}, the first of them that is installed, draw what could have been there; ${classical.name} repeats what is around it.`,
    },
  },
  check: (given) => {
    const sent = SIDES.filter((name) => given[name] !== undefined);
    const missing = SIDES.find((name) => given[name] === undefined);
    if (sent.length > 0 && missing !== undefined)
      throw refuseField(missing, undefined, 'a number of pixels: a rectangle has x, y, w and h');
  },
  daily: 50,
  work: {
    target: (sources, given) => {
      const isBox = given['w'] !== undefined;
      if (sources.length === 1 && !isBox)
        throw new Failure('BAD_REQUEST', {
          says: 'Say what to remove: a picture in the field "mask" that is white there and as large as the photo, or a rectangle in x, y, w and h.',
        });
      if (sources.length > 1 && isBox) throw new Failure('BAD_REQUEST', { says: 'Send either a mask or a rectangle, not both.' });
      return photoTarget(sources);
    },
    methods: [
      { engine: lama, plan: (order) => withoutObject(order, inpaint) },
      { engine: migan, plan: (order) => withoutObject(order, inpaint) },
      {
        engine: classical,
        plan: (order) =>
          withoutObject(order, (picture, result, box, mask) => retouch('fill', picture, result, ...(mask === undefined ? box : [mask]))),
      },
    ],
  },
};

/** @param fill a call of a program: with the rectangle's numbers, or the path of a mask */
function withoutObject(order: ToolTask, fill: (picture: string, result: string, box: readonly string[], mask?: string) => Step): Plan {
  const [photo, mask] = order.sources;
  if (photo === undefined) throw new Error('a tool without a source');
  const sides = boundedSides(photo);
  if (mask === undefined) refuseOutside(sides, order.input as z.output<typeof input>);
  else refuseOther(sides, boundedSides(mask));
  const [task, result] = [taskOf(order), resultIn(order.scratch)];
  if (mask === undefined)
    return planRetouch(task, (picture) => [
      fill(
        picture,
        result,
        SIDES.map((name) => `${order.input[name]}`),
      ),
    ]);
  const beside = decodeBeside(order, mask, 'mask');
  return planRetouch(task, (picture) => [...beside.steps, fill(picture, result, [], beside.picture)]);
}

interface Sides {
  readonly width: number;
  readonly height: number;
}

/** @throws Failure `INVALID_OPTION` */
function refuseOutside({ width, height }: Sides, { x = 0, y = 0, w = 0, h = 0 }: z.output<typeof input>): void {
  for (const [option, has, from, length] of [
    ['w', width, x, w],
    ['h', height, y, h],
  ] as const)
    if (from + length > has)
      throw misfit({
        option,
        received: `${length}`,
        allowed: `at most ${Math.max(0, has - from)} px from there on in this picture`,
        says: `The picture is ${width} × ${height} pixels, and the rectangle reaches to ${x + w}, ${y + h}.`,
      });
}

/** @throws Failure `INVALID_OPTION` */
function refuseOther({ width, height }: Sides, mask: Sides): void {
  if (mask.width === width && mask.height === height) return;
  const received = `${mask.width} × ${mask.height} px`;
  const allowed = `a picture as large as the photo, ${width} × ${height} px`;
  throw misfit({ option: 'mask', received, allowed, says: `The mask is ${received}; expected ${allowed}.` });
}
