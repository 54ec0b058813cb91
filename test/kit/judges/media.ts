/** Judges recordings: in the container and codecs that they claim, with the tones of their seed, and its moving picture where they have one. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { formatOf } from '../../../src/catalog/formats.ts';
import { CELLS, PHASE_SECONDS, PITCHES, phaseOf, type Scene, sceneOf } from '../catalog/scene.ts';
import { expectGrid } from './pictures/grid.ts';
import { remembered } from './remembered.ts';

const run = promisify(execFile);
const RATE = 8000;
const SIDE = 64;
/** Out of 32,768: a tone is ten times as loud. */
const ROOM = 800;
/** Raw streams that we write keep the rate of the source, which they cannot state: FFmpeg would play them at 25. */
const RAW_RATE = 30;

interface Nature {
  readonly container: string;
  readonly mark?: RegExp;
  readonly codecs: RegExp;
  readonly sox?: string;
  readonly rate?: number;
}

/**
 * What a file of each format is: ffprobe's name of the container, a brand or mark in its first bytes, and the codecs that may be in it; the type by
 * which sox reads it, another program than the one that wrote it; and the rate at which a stream without one is played.
 */
const NATURE: Readonly<Record<string, Nature>> = {
  mp3: { container: 'mp3', codecs: /^mp3$/ },
  wav: { container: 'wav', mark: /^RIFF....WAVE/s, codecs: /^pcm_/ },
  flac: { container: 'flac', mark: /^fLaC/, codecs: /^flac$/ },
  ogg: { container: 'ogg', mark: /^OggS/, codecs: /^(vorbis|opus|flac|speex)$/ },
  opus: { container: 'ogg', mark: /^OggS.{24,}OpusHead/s, codecs: /^opus$/ },
  m4a: { container: 'mov', mark: /^....ftypM4A /s, codecs: /^(aac|alac|ac3)$/ },
  m4b: { container: 'mov', mark: /^....ftypM4[AB] /s, codecs: /^(aac|alac|ac3)$/ },
  aac: { container: 'aac', mark: /^\xff[\xf0-\xff]/, codecs: /^aac$/ },
  ac3: { container: 'ac3', mark: /^\x0b\x77/, codecs: /^ac3$/ },
  eac3: { container: 'eac3', mark: /^\x0b\x77/, codecs: /^eac3$/ },
  aiff: { container: 'aiff', mark: /^FORM....AIF/s, codecs: /^pcm_/ },
  wma: { container: 'asf', codecs: /^wma/ },
  mka: { container: 'matroska', mark: /matroska/, codecs: /./ },
  au: { container: 'au', mark: /^\.snd/, codecs: /^pcm_/ },
  caf: { container: 'caf', mark: /^caff/, codecs: /^(pcm_|alac)/ },
  wv: { container: 'wv', mark: /^wvpk/, codecs: /^wavpack$/ },
  tta: { container: 'tta', mark: /^TTA1/, codecs: /^tta$/ },
  mp2: { container: 'mp3', codecs: /^mp2$/ },
  w64: { container: 'w64', mark: /^riff/, codecs: /^pcm_/ },
  spx: { container: 'ogg', mark: /^OggS.{24,}Speex /s, codecs: /^speex$/ },
  mp4: { container: 'mov', mark: /^....ftyp(isom|mp4)/s, codecs: /^(h264|hevc|mpeg4|av1|vp9|aac|mp3|ac3|eac3|opus)$/ },
  m4v: { container: 'mov', mark: /^....ftyp(isom|mp4|M4V)/s, codecs: /^(h264|hevc|mpeg4|av1|vp9|aac|mp3|ac3|eac3|opus)$/ },
  mov: { container: 'mov', mark: /^....ftypqt/s, codecs: /./ },
  mkv: { container: 'matroska', mark: /matroska/, codecs: /./ },
  webm: { container: 'matroska', mark: /webm/, codecs: /^(vp8|vp9|av1|opus|vorbis)$/ },
  avi: { container: 'avi', mark: /^RIFF....AVI /s, codecs: /./ },
  flv: { container: 'flv', mark: /^FLV/, codecs: /^(h264|flv1|aac|mp3)$/ },
  wmv: { container: 'asf', codecs: /^(wm|vc1|msmpeg4)/ },
  mpg: { container: 'mpeg', mark: /^\0\0\x01\xba/, codecs: /^(mpeg[12]video|mp2|ac3)$/ },
  ts: { container: 'mpegts', mark: /^G/, codecs: /./ },
  '3gp': { container: 'mov', mark: /^....ftyp3g/s, codecs: /^(h264|mpeg4|h263|aac|amr_)/ },
  ogv: { container: 'ogg', mark: /^OggS/, codecs: /^(theora|vorbis|opus|flac)$/ },
  voc: { container: 'voc', mark: /^Creative Voice File/, codecs: /^pcm_/, sox: 'voc' },
  gsm: { container: 'gsm', mark: /^[\xd0-\xdf]/, codecs: /^gsm$/, sox: 'gsm' },
  sox: { container: 'sox', mark: /^\.SoX/, codecs: /^pcm_s32le$/, sox: 'sox' },
  sf: { container: 'ircam', mark: /^\x64\xa3/, codecs: /^pcm_/, sox: 'ircam' },
  adx: { container: 'adx', mark: /^\x80\0/, codecs: /^adpcm_adx$/ },
  m2ts: { container: 'mpegts', mark: /^....G.{191}G/s, codecs: /./ },
  '3g2': { container: 'mov', mark: /^....ftyp3g2/s, codecs: /^(h264|mpeg4|h263|aac|amr_)/ },
  f4v: { container: 'mov', mark: /^....ftypf4v /s, codecs: /^(h264|aac|mp3)$/ },
  mxf: { container: 'mxf', mark: /^\x06\x0e\x2b\x34/, codecs: /^(mpeg2video|pcm_s(16|24)le|unknown)$/ },
  nut: { container: 'nut', mark: /^nut\/multimedia/, codecs: /./ },
  swf: { container: 'swf', mark: /^[FC]WS/, codecs: /^(flv1|mp3)$/ },
  ivf: { container: 'ivf', mark: /^DKIF/, codecs: /^(vp[89]|av1)$/ },
  y4m: { container: 'yuv4mpegpipe', mark: /^YUV4MPEG2 /, codecs: /^(rawvideo|wrapped_avframe)$/ },
  ismv: { container: 'mov', mark: /^....ftypisml/s, codecs: /^(h264|aac)$/ },
  m4e: { container: 'm4v', mark: /^\0\0\x01/, codecs: /^mpeg4$/ },
  h264: { container: 'h264', codecs: /^h264$/, rate: RAW_RATE },
  hevc: { container: 'hevc', codecs: /^hevc$/, rate: RAW_RATE },
  obu: { container: 'obu', codecs: /^av1$/, rate: RAW_RATE },
  m2v: { container: 'mpegvideo', mark: /^\0\0\x01\xb3/, codecs: /^mpeg2video$/ },
  m1v: { container: 'mpegvideo', mark: /^\0\0\x01\xb3/, codecs: /^mpeg1video$/ },
  mjpeg: { container: 'mjpeg', mark: /^\xff\xd8/, codecs: /^mjpeg$/, rate: RAW_RATE },
};

/** @throws unless the file is really of that format and has the tones, and as a video the pictures, of that seed */
export async function judge(path: string, format: string, seed: string): Promise<void> {
  const nature = NATURE[format];
  if (nature === undefined) throw new Error(`no judge for recordings of the format ${format}`);
  const scene = sceneOf(seed);
  const codecs = await probe(path, nature.container);
  for (const { codec_name: codec } of codecs) if (!nature.codecs.test(codec)) throw new Error(`a ${format} does not hold ${codec}`);
  if (nature.mark !== undefined && !nature.mark.test((await bytes(path, '/usr/bin/head', ['-c', '300'])).toString('latin1')))
    throw new Error(`this has not the mark of ${format}`);
  const has = (type: string) => codecs.some(({ codec_type }) => codec_type === type);
  const isVideo = formatOf(format).family === 'video';
  if (isVideo !== has('video')) throw new Error(isVideo ? 'the video has no picture' : 'the sound has a picture');
  if (isVideo) await expectPictures(path, nature, scene);
  // A video that was made of an animation is silent.
  if (has('audio')) await expectTones(path, nature, scene);
  else if (!isVideo) throw new Error('there is no sound');
}

async function probe(path: string, container: string): Promise<{ codec_name: string; codec_type: string }[]> {
  const shown = ['-show_entries', 'stream=codec_name,codec_type', '-of', 'json'];
  const found = await bytes(path, '/usr/bin/ffprobe', ['-v', 'error', '-f', container, ...shown, '-i']);
  return JSON.parse(found.toString()).streams;
}

async function expectPictures(path: string, { container, rate }: Nature, scene: Scene): Promise<void> {
  const times = Array.from({ length: CELLS }, (_, phase) => (phase + 0.5) * PHASE_SECONDS);
  const shape = ['-vf', `fps=20,scale=${SIDE}:${SIDE}:flags=area`, '-pix_fmt', 'rgba', '-f', 'rawvideo', 'pipe:1'];
  const frames = await bytes(
    path,
    '/usr/bin/ffmpeg',
    ['-v', 'error', '-f', container, ...(rate === undefined ? [] : ['-framerate', `${rate}`]), '-i'],
    ['-map', '0:v:0', ...shape],
  );
  const size = SIDE * SIDE * 4;
  const seconds = frames.length / size / 20;
  if (seconds < 1.7 || seconds > 2.5) throw new Error(`the video is ${seconds} s long, not 2`);
  for (const [phase, time] of times.entries()) {
    const start = Math.round(time * 20) * size;
    expectGrid({ width: SIDE, height: SIDE, pixels: frames.subarray(start, start + size) }, phaseOf(scene, phase));
  }
}

async function expectTones(path: string, { container, sox }: Nature, { tones }: Scene): Promise<void> {
  const shape = ['-ac', '1', '-ar', `${RATE}`, '-f', 's16le', 'pipe:1'];
  const sound =
    sox === undefined
      ? await bytes(path, '/usr/bin/ffmpeg', ['-v', 'error', '-f', container, '-i'], ['-map', '0:a:0', ...shape])
      : await bytes(
          path,
          '/usr/bin/sox',
          ['-V1', '-t', sox],
          ['-t', 'raw', '-r', `${RATE}`, '-c', '1', '-b', '16', '-e', 'signed', '-L', '-'],
        );
  const seconds = loudSeconds(sound);
  if (seconds < 1.8 || seconds > 2.4) throw new Error(`the sound is ${seconds} s long, not 2`);
  for (const [phase, pitch] of tones.entries()) {
    // The middle of the phase: codecs shift what they encode by up to a tenth of a second.
    const start = Math.round((phase + 0.35) * PHASE_SECONDS * RATE);
    const samples = Array.from({ length: RATE * 0.2 }, (_, place) => sound.readInt16LE((start + place) * 2));
    const powers = PITCHES.map((candidate) => power(samples, candidate));
    const loudest = PITCHES[powers.indexOf(Math.max(...powers))];
    if (Math.max(...powers) < 1000 || loudest !== pitch) throw new Error(`phase ${phase} sounds at ${loudest} Hz, not ${pitch}`);
  }
}

/** Until the last sample that is more than what a synthesiser's notes leave in the room. */
function loudSeconds(sound: Buffer): number {
  let end = sound.length - 2;
  while (end > 0 && Math.abs(sound.readInt16LE(end)) < ROOM) end -= 2;
  return end / 2 / RATE;
}

/** Amplitude of one frequency (Goertzel, 1958). */
function power(samples: readonly number[], pitch: number): number {
  const coefficient = 2 * Math.cos((2 * Math.PI * pitch) / RATE);
  let [last, before] = [0, 0];
  for (const sample of samples) [last, before] = [sample + coefficient * last - before, last];
  return (2 * Math.sqrt(last ** 2 + before ** 2 - coefficient * last * before)) / samples.length;
}

/** What a program writes of a file that stands between these arguments. */
const bytes = remembered(
  async (path: string, program: string, before: readonly string[], after: readonly string[] = []): Promise<Buffer> =>
    (await run(program, [...before, path, ...after], { encoding: 'buffer', maxBuffer: 1 << 28 })).stdout,
);
