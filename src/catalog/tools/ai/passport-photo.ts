/** A photo as passports need it. */
import { z } from 'zod';
import { matted } from '../../engines/photos/matte.ts';
import { engine as small } from '../../engines/photos/portrait.ts';
import { engine as large } from '../../engines/photos/portrait-large.ts';
import { colour, flag, oneOf } from '../../options/fields.ts';
import type { Method, Tool } from '../../tool.ts';
import { PHOTO } from '../../tool-families/photo.ts';

/** Width, height, head from chin to crown, and the space above it, mm: the middle of what each allows. */
const RULES = {
  us: [50.8, 50.8, 30, 5.5],
  eu: [35, 45, 34, 4],
  uk: [35, 45, 31.5, 5],
  in: [50.8, 50.8, 30, 5.5],
  cn: [33, 48, 30.5, 4],
  ca: [50, 70, 33.5, 12],
  au: [35, 45, 34, 4],
  jp: [35, 45, 34, 4],
  kr: [35, 45, 34, 4],
} as const;
const COUNTRIES = Object.keys(RULES) as [keyof typeof RULES, ...(keyof typeof RULES)[]];
/** Resolution of prints, dots per inch. */
const DPI = 300;

const input = z.object({
  country: oneOf(COUNTRIES).default('us'),
  color: colour.default('#ffffff'),
  sheet: flag.default(false),
});

const plan: Method['plan'] = (order) => {
  const { country, color, sheet } = order.input as z.output<typeof input>;
  return matted(order, 'passport', [color, ...RULES[country].map(String), ...(sheet ? ['sheet'] : [])], DPI);
};

export const tool: Tool = {
  slug: 'passport-photo',
  summary: 'Makes a passport photo of a portrait: finds the face, cuts it to the size of a country, and makes the background plain.',
  search: {
    en: 'id photo, visa, biometric, application',
    de: 'Passbild, biometrisch, Ausweis, Visum, Bewerbung',
    es: 'foto de carné, visado, biométrica, DNI, pasaporte',
  },
  ...PHOTO,
  input,
  example: { country: 'eu', sheet: 'true' },
  texts: {
    country: {
      means: 'Country whose size the photo has: us and in 2 × 2 inches, eu, uk, au, jp and kr 35 × 45 mm, cn 33 × 48 mm, ca 50 × 70 mm.',
    },
    color: { means: 'Colour of the background.' },
    sheet: { means: 'Whether the result is a print of 6 × 4 inches (10 × 15 cm) with as many photos as fit.' },
  },
  daily: 100,
  work: {
    target: () => 'jpg',
    // The better model first.
    methods: [
      { engine: large, plan },
      { engine: small, plan },
    ],
  },
};
