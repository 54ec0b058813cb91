/**
 * Takes the background from a photo, or puts it before another one, by models of ONNX.
 *
 *   matte.ts --u2netp|u2net|isnet-general-use=FOLDER cut INPUT.pam OUTPUT.pam
 *   matte.ts --u2netp|u2net|isnet-general-use=FOLDER over INPUT.pam OUTPUT.pam COLOUR|BACKGROUND.pam
 *   matte.ts --u2netp=FOLDER --centerface=FOLDER passport INPUT.pam OUTPUT.pam COLOUR WIDTH HEIGHT HEAD ABOVE [sheet]
 *
 * A colour is `#rrggbb`; sizes are in mm. A picture without exactly one face is refused as a passport photo. See `inference/serve.ts`.
 */

import { FileRefused } from '../data/values/value.ts';
import { folderOf } from '../inference/arguments.ts';
import { type ModelProgram, serve } from '../inference/serve.ts';
import type { Told } from '../process/answer.ts';
import { backgroundOf, before, cutOut, plain } from './matte/compose.ts';
import { doubtOf } from './matte/doubt.ts';
import { type DetectedFace, facesIn } from './matte/faces.ts';
import { isnet, maskOf, type SubjectModel, u2net } from './matte/mask.ts';
import { type PassportRule, portraitOf, sheetOf } from './matte/passport.ts';
import { type Picture, readPam, writePam } from './planes/picture.ts';

/** A second face of this share of the first one's area is another person. */
const ANOTHER = 0.4;
/** More is blurred to the eye. */
const MOST_ENLARGED = 1.3;
/** Share of the lower edge that may be missing. */
const MOST_LACKING = 0.05;

/** Receives warnings and progress, 0 to 1. */
interface Listener {
  readonly warnings: Told[];
  readonly progress: (fraction: number) => void;
}

async function subjectOf(picture: Picture, model: SubjectModel, { warnings, progress }: Listener): Promise<Picture> {
  progress(0.05);
  const mask = await maskOf(picture, model);
  progress(0.6);
  const told = doubtOf(mask);
  if (told !== undefined) warnings.push(told);
  return cutOut(picture, mask.plane);
}

/** @returns the only face, or how many there are */
function onlyFace(faces: readonly DetectedFace[]): DetectedFace | number {
  const area = ({ width, height }: DetectedFace) => width * height;
  const [largest, next] = [...faces].sort((a, b) => area(b) - area(a));
  if (largest === undefined) return 0;
  return next === undefined || area(next) < ANOTHER * area(largest) ? largest : faces.length;
}

async function passport(picture: Picture, models: Models, [colour = '', ...more]: readonly string[], listener: Listener): Promise<Picture> {
  const [width = 0, height = 0, head = 0, above = 0] = more.map(Number);
  const rule: PassportRule = { width, height, head, above };
  const face = onlyFace(await facesIn(picture, models.centerface));
  if (typeof face === 'number') {
    const details = { limit: 'faces', ...(face === 0 ? { min: 1 } : { max: 1 }), received: face };
    const says = `A passport photo shows one face; ${face === 0 ? 'none was found' : `${face} were found`} in this picture.`;
    throw new FileRefused('input_limit', says, details);
  }
  const { picture: portrait, enlarged, lacks } = portraitOf(await subjectOf(picture, models.subject, listener), face, rule);
  const { warnings } = listener;
  if (enlarged > MOST_ENLARGED)
    warnings.push({ code: 'low_resolution', message: `The head is small in the photo: it was enlarged ${enlarged.toFixed(1)} times.` });
  if (lacks > MOST_LACKING) warnings.push({ code: 'cut_off', message: 'The photo ends too close to the head: the shoulders are cut off.' });
  const photo = before(portrait, plain(colour, portrait));
  return more[4] === 'sheet' ? sheetOf(photo) : photo;
}

interface Models {
  readonly subject: SubjectModel;
  /** Its folder. */
  readonly centerface: string;
}

const [fine, large] = [folderOf('isnet-general-use'), folderOf('u2net')];
const models: Models = {
  subject: fine !== '' ? isnet(fine) : large === '' ? u2net(folderOf('u2netp'), 'u2netp.onnx') : u2net(large, 'u2net.onnx'),
  centerface: folderOf('centerface'),
};
const work: ModelProgram['work'] = async ([operation, input = '', output = '', ...rest], progress) => {
  const picture = readPam(input);
  const listener: Listener = { progress, warnings: [] };
  let result: Picture;
  if (operation === 'passport') result = await passport(picture, models, rest, listener);
  else {
    const subject = await subjectOf(picture, models.subject, listener);
    result = operation === 'cut' ? subject : before(subject, backgroundOf(rest[0] ?? '', picture));
  }
  progress(0.9);
  writePam(output, result);
  return listener.warnings;
};

await serve({ name: 'matte', version: '1.0', work });
