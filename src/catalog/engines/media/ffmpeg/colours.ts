/** What frames need before they are shaped or encoded: one moment each, the matrix that they were made by, the range of ordinary screens, and paper behind what is transparent. */
import type { EngineWarning } from '../../../engine.ts';
import type { OptionName, Options } from '../../../options/options.ts';
import type { VideoEncoderId } from './encoders.ts';
import type { VideoStream } from './streams.ts';

/** Options that change the frames of a video, whatever it becomes. */
export const FRAME_OPTIONS = ['deinterlace', 'tone_map'] as const satisfies readonly OptionName[];

/** From this size on, files that state no matrix were made by that of BT.709 (ITU-R BT.709, BT.601). */
const isLarge = ({ width, height }: VideoStream): boolean => width >= 1280 || height >= 720;
/** Red, green and blue, or grey: there is no matrix yet. */
const isRgb = ({ pixels }: VideoStream): boolean => /^(?:rgb|bgr|gbr|0rgb|0bgr|argb|abgr|x2|pal8|gray|ya8|ya16|mono)/.test(pixels);
/** A JPEG is always made by the matrix of BT.601, in full range (JFIF 1.02). */
const JPEG = 'mjpeg';

const BT709 = 'colorspace=bt709:color_primaries=bt709:color_trc=bt709';

/** Right behind the decoder: filters further on read the matrix from the frames. */
export function decoded(stream: VideoStream, options: Pick<Options, 'deinterlace'>): readonly string[] {
  const untold = stream.matrix === undefined && !isRgb(stream) && stream.codec !== JPEG && isLarge(stream);
  return [...(untold ? [`setparams=${BT709}`] : []), ...progressive(stream, options)];
}

/** Lines, and columns, that the filter needs. */
const FIELD = 4;
/** Bob Weaver's filter makes a frame of the first field, and its lines of the neighbours in time and space; frames that are whole pass as they are. */
function progressive({ interlaced, mayInterlace, ...sides }: VideoStream, { deinterlace = 'auto' }: Pick<Options, 'deinterlace'>) {
  if (deinterlace === 'off' || (deinterlace === 'auto' && !interlaced && !mayInterlace)) return [];
  if (Math.min(sides.width, sides.height) < FIELD) return [];
  return [`bwdif=mode=send_frame:deint=${deinterlace === 'on' ? 'all' : 'interlaced'}`];
}

/** cd/m² of white paper in a picture of high dynamic range, and the brightest that is kept (ITU-R BT.2408, 2.2). */
const [WHITE, BRIGHTEST] = [203, 1000];
/** Shares of white up to which a curve changes nothing. */
const CURVES: Readonly<Record<string, string>> = { mobius: 'mobius:param=0.5', hable: 'hable', reinhard: 'reinhard:param=0.5' };

/** Whether a display without high dynamic range shows it wrong, or colours of BT.2020 too pale. */
const isBeyond = ({ transfer, wide }: VideoStream): boolean => transfer !== undefined || wide;

/** Codecs whose streams, and those whose containers, say what range they have. */
const TELLING: ReadonlySet<VideoEncoderId> = new Set(['h264', 'h265', 'av1']);
const BY_CONTAINER: ReadonlySet<string> = new Set(['webm', 'mkv', 'mp4', 'm4v']);

/** @param id of the encoder; undefined: it becomes pictures */
export function isToneMapped(stream: VideoStream, { tone_map: curve = 'auto' }: Options, target: string, id?: VideoEncoderId): boolean {
  if (!isBeyond(stream) || curve === 'off') return false;
  const tells = id !== undefined && (TELLING.has(id) || (id === 'vp9' && BY_CONTAINER.has(target)));
  return curve !== 'auto' || !tells;
}

/** To linear light, to the primaries of BT.709, along a curve to the white of ordinary screens, and back. @param ending of the transfer, and of the samples */
function toneMap({ transfer }: VideoStream, { tone_map: asked = 'auto' }: Options, ending: string): readonly string[] {
  const curve = CURVES[asked] ?? CURVES['mobius'];
  const mapped = transfer === undefined ? [] : [`tonemap=tonemap=${curve}:desat=0:peak=${(BRIGHTEST / WHITE).toFixed(3)}`];
  return [`zscale=t=linear:npl=${WHITE}`, 'format=gbrpf32le', 'zscale=p=bt709', ...mapped, ending];
}

/** Frames for an encoder of pictures. @param formats of pixels, the first that has all that the frames have */
export const asPicture = (stream: VideoStream, options: Options, target: string, formats: string): readonly string[] => [
  // `gbrp` alone would keep transparent what is not to be.
  ...(isToneMapped(stream, options, target) ? [...toneMap(stream, options, 'zscale=t=iec61966-2-1:r=full'), 'format=gbrp'] : []),
  `format=${formats}`,
];

/** Frames for an encoder of video, with what the file is to say of their colours. */
export function asFilm(stream: VideoStream, options: Options, target: string, id: VideoEncoderId): readonly string[] {
  if (isToneMapped(stream, options, target, id))
    return [...toneMap(stream, options, 'zscale=t=bt709:m=bt709:r=limited'), 'format=yuv420p', ...(id === JPEG ? THROUGH_RGB : [])];
  if (id === JPEG) return isRgb(stream) ? [] : THROUGH_RGB;
  if (!isRgb(stream) && !hasAlpha(stream)) return [];
  const [matrix, said] = isLarge(stream)
    ? ['bt709', BT709]
    : ['smpte170m', 'colorspace=smpte170m:color_primaries=smpte170m:color_trc=smpte170m'];
  return [
    `scale=out_color_matrix=${matrix}:out_range=tv`,
    `format=${keepsAlpha(stream, target, id) ? 'yuva420p' : 'yuv420p'}`,
    `setparams=range=tv:${said}`,
  ];
}
const THROUGH_RGB = ['format=gbrp'] as const;

/** Transparency in the samples; raw frames of four channels have anything in the fourth, and FFmpeg's decoder of GIF shows white there. */
const CLEAR = /^(?:yuva|gbrap|rgba|argb|bgra|abgr|ya8|ya16|pal8)/;
const WITH_ALPHA: ReadonlySet<string> = new Set(['apng', 'png', 'prores', 'qtrle', 'ffv1']);
export const hasAlpha = ({ codec, pixels, alphaBeside }: VideoStream): boolean =>
  alphaBeside || (WITH_ALPHA.has(codec) && CLEAR.test(pixels));

/** What VP8 and VP9 have of it stands beside each block, which only these containers have room for, and only these decoders read. */
const BESIDE: ReadonlySet<string> = new Set(['webm', 'mkv']);
export const keepsAlpha = (stream: VideoStream, target: string, id: VideoEncoderId): boolean =>
  isTransparent(stream) && BESIDE.has(target) && (id === 'vp8' || id === 'vp9');
export const copiesAlpha = ({ alphaBeside }: VideoStream, target: string): boolean => !alphaBeside || BESIDE.has(target);

/** Options of the input, in front of it. */
export const decoderArguments = ({ alphaBeside, index, codec }: VideoStream): readonly string[] =>
  alphaBeside ? [`-c:${index}`, codec === 'vp8' ? 'libvpx' : 'libvpx-vp9'] : [];

/** FFmpeg drops opacity, and shows the colours of what is transparent. Colours times opacity, and white times the rest. */
export const onWhite = (stream: VideoStream): readonly string[] =>
  hasAlpha(stream)
    ? [
        'format=gbrap,split[ink][paper];[ink]premultiply=inplace=1,format=gbrp[ink];' +
          '[paper]alphaextract,negate,split=3[g][b][r];[g][b][r]mergeplanes=0x001020:gbrp[paper];[ink][paper]blend=all_mode=addition',
      ]
    : [];

/** A picture with a channel for opacity may be opaque all the same: only its pixels tell. */
export const isTransparent = (stream: VideoStream): boolean => hasAlpha(stream) && stream.codec !== 'apng' && stream.codec !== 'png';

export const flattened = (stream: VideoStream, source: string): readonly EngineWarning[] =>
  isTransparent(stream) ? [{ code: 'lossy', message: `This conversion from ${source} does not keep: transparency.` }] : [];
