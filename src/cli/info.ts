/** `filemill info`: what files are, by their content: type, size, and facts such as pixels, pages or seconds. */
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { humanSize } from '../api/jobs/view.ts';
import type { Facts } from '../catalog/engine.ts';
import { formatOf } from '../catalog/formats.ts';
import { printable } from '../printable.ts';
import { UsageError } from './files/converter.ts';
import { EXIT } from './files/exit.ts';
import { osPath } from './files/meaning/bytes.ts';
import { checkSource } from './files/place.ts';
import { shownProblemOf } from './files/run.ts';
import { print, printJson, tell } from './print.ts';

/** @returns the exit code @throws UsageError · CannotStart */
export async function infoCommand(args: readonly string[], checkout: string): Promise<number> {
  const { files, json } = asked(args);
  const here = await (await import('./files/here.ts')).openHere(checkout, 1);
  let code: number = EXIT.done;
  try {
    for (const path of files)
      try {
        await checkSource(path);
        const { format, sizeBytes, facts } = await here.inspect({ path: osPath(path), name: basename(path).toWellFormed() });
        const { mime, family } = formatOf(format);
        const told = toldFacts(facts);
        if (json) printJson({ file: path, format, content_type: mime, family, size_bytes: sizeBytes, facts: told });
        else print(`${printable(path)}: ${[format, mime, humanSize(sizeBytes), ...shown(told)].join(', ')}`);
      } catch (error) {
        code = EXIT.failed;
        const problem = shownProblemOf(error);
        if (json) printJson({ file: path, error: problem });
        else tell(`filemill: ${printable(path)}: ${printable(problem.message)} (${problem.code})`);
      }
  } finally {
    await here.close();
  }
  return code;
}

/** @throws UsageError */
function asked(args: readonly string[]): { readonly files: readonly string[]; readonly json: boolean } {
  try {
    const { values, positionals } = parseArgs({ args: [...args], options: { json: { type: 'boolean' } }, allowPositionals: true });
    if (positionals.length > 0) return { files: positionals, json: values.json === true };
  } catch (error) {
    throw new UsageError((error as Error).message.split('. To specify a positional')[0]);
  }
  throw new UsageError('name a file');
}

interface Told {
  readonly width?: number;
  readonly height?: number;
  readonly frames?: number;
  readonly pages?: number;
  readonly encrypted?: true;
  readonly seconds?: number;
  readonly video?: readonly { readonly codec: string; readonly width: number; readonly height: number; readonly fps: number }[];
  readonly audio?: readonly { readonly codec: string; readonly rate: number; readonly channels: number }[];
  readonly subtitles?: number;
}

interface Media {
  readonly duration: number | undefined;
  readonly video: readonly { readonly codec: string; readonly width: number; readonly height: number; readonly fps: number }[];
  readonly audio: readonly { readonly codec: string; readonly rate: number; readonly channels: number }[];
  readonly subtitles: readonly unknown[];
}

/** Each engine reads its own facts; those of pictures, pages and recordings have the same names in all. */
export function toldFacts({ frames, pages, encrypted, media }: Facts): Told {
  const pictures = Array.isArray(frames) ? (frames as readonly { readonly width: number; readonly height: number }[]) : [];
  const [first] = pictures;
  const recording = media as Media | undefined;
  return {
    ...(first === undefined ? {} : { width: first.width, height: first.height }),
    ...(pictures.length > 1 ? { frames: pictures.length } : {}),
    ...(typeof pages === 'number' ? { pages } : {}),
    ...(encrypted === true ? { encrypted } : {}),
    ...(recording?.duration === undefined ? {} : { seconds: Number(recording.duration.toFixed(3)) }),
    ...(recording === undefined || recording.video.length === 0
      ? {}
      : { video: recording.video.map(({ codec, width, height, fps }) => ({ codec, width, height, fps: Number(fps.toFixed(3)) })) }),
    ...(recording === undefined || recording.audio.length === 0
      ? {}
      : { audio: recording.audio.map(({ codec, rate, channels }) => ({ codec, rate, channels })) }),
    ...(recording === undefined || recording.subtitles.length === 0 ? {} : { subtitles: recording.subtitles.length }),
  };
}

function* shown({ width, height, frames, pages, encrypted, seconds, video = [], audio = [], subtitles }: Told): Generator<string> {
  if (width !== undefined) yield `${width} × ${height} px`;
  if (frames !== undefined) yield `${frames} frames`;
  if (pages !== undefined) yield pages === 1 ? '1 page' : `${pages} pages`;
  if (encrypted) yield 'encrypted';
  if (seconds !== undefined) yield `${seconds} s`;
  for (const each of video) yield `video ${each.codec} ${each.width} × ${each.height} px${each.fps > 0 ? ` ${each.fps} fps` : ''}`;
  for (const each of audio) yield `audio ${each.codec} ${each.rate} Hz ${each.channels} ch`;
  if (subtitles !== undefined) yield `${subtitles} subtitle tracks`;
}
