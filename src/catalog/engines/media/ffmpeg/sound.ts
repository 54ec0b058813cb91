/** Converts audio, or the audio of a video: copies it if the target can contain its codec and no option changes it, else encodes it. */
import { conversionFailed } from '../../../../errors.ts';
import type { EngineWarning, Plan, Task } from '../../../engine.ts';
import { isDefault } from '../../../options/defaults.ts';
import type { OptionName, Options } from '../../../options/options.ts';
import { command, dropped, tags } from './command.ts';
import { AUDIO, type AudioContainer } from './containers.ts';
import { AUDIO_ENCODERS, type AudioEncoder, type AudioSettings, encodeAudio, mixed } from './encoders.ts';
import { type AudioStream, mediaOf } from './streams.ts';
import { timeline } from './timeline.ts';

/** @returns the options that change this target's sound */
export function soundOptions(target: string): readonly OptionName[] {
  const row: AudioEncoder | undefined = AUDIO[target] && AUDIO_ENCODERS[AUDIO[target].encode];
  if (target === 'mp3') return ['mp3_mode', 'mp3_quality', 'mp3_bitrate', 'audio_rate', 'audio_channels'];
  if (target === 'wav') return ['wav_rate', 'wav_depth', 'wav_channels'];
  return [
    ...(row?.bitrate ? (['audio_bitrate'] as const) : []),
    ...(row?.rates?.length === 1 ? [] : (['audio_rate'] as const)),
    'audio_channels',
  ];
}

/** @throws Failure `no_stream` if there is no such audio track */
export function planSound(task: Task, container: AudioContainer | undefined = AUDIO[task.target]): Plan {
  const { target, options, output, facts } = task;
  const media = mediaOf(facts);
  const stream = media.audio[(options.track ?? 1) - 1];
  if (container === undefined || stream === undefined) throw conversionFailed('no_stream');
  const time = timeline(task);
  const settings = settingsOf(target, options);
  const change =
    time.cut ||
    Object.values(settings).some((value) => value !== undefined) ||
    options.mp3_mode !== undefined ||
    options.mp3_quality !== undefined;
  const isEncoded = change || !container.holds.includes(stream.codec);
  const cover =
    container.cover && !options.strip_metadata ? media.covers.find(({ codec }) => codec === 'mjpeg' || codec === 'png') : undefined;
  return {
    warnings: [
      ...time.warnings,
      ...ofAnotherMode(target, options),
      ...dropped(media.covers.length - (cover === undefined ? 0 : 1)),
      ...(isEncoded && settings.channels === undefined ? mixed(stream.channels, AUDIO_ENCODERS[container.encode].maxChannels) : []),
    ],
    steps: [
      command({
        task,
        timeline: time,
        // A cover alone would otherwise be a result, where the file was cut before its sound.
        full: true,
        encode: [
          ...['-map', `0:${stream.index}`],
          ...(cover === undefined ? ['-vn'] : ['-map', `0:${cover.index}`, '-c:v', 'copy', '-disposition:v:0', 'attached_pic']),
          ...['-sn', '-dn'],
          ...tags(task.source, stream.index, options.strip_metadata),
          ...(isEncoded ? encoded(target, container, stream, settings, options) : ['-c:a', 'copy']),
          ...container.muxer,
        ],
        to: `${output}/out.${target}`,
      }),
    ],
  };
}

function encoded(
  target: string,
  { encode }: AudioContainer,
  stream: AudioStream,
  settings: AudioSettings,
  options: Options,
): readonly string[] {
  const args = encodeAudio(encode, stream, settings);
  if (target !== 'mp3') return args;
  const bitrate = args.indexOf('-b:a');
  return args.toSpliced(bitrate, 2, ...mp3Quality(options));
}

/** Arguments for LAME's three bit-rate modes. A bit rate without a mode means constant bit rate. */
function mp3Quality(options: Options): string[] {
  const mode = mp3Mode(options);
  if (mode === 'vbr') return ['-q:a', `${options.mp3_quality ?? 2}`];
  return ['-b:a', `${options.mp3_bitrate ?? 192}k`, ...(mode === 'abr' ? ['-abr', '1'] : [])];
}

const mp3Mode = ({ mp3_mode: mode, mp3_bitrate: bitrate }: Options) => mode ?? (bitrate === undefined ? 'vbr' : 'cbr');

/** Warns about an option that the mode does not use: a bit rate with vbr, or a quality with the others. */
function ofAnotherMode(target: string, options: Options): readonly EngineWarning[] {
  if (target !== 'mp3') return [];
  const mode = mp3Mode(options);
  const [name, value] = mode === 'vbr' ? (['mp3_bitrate', options.mp3_bitrate] as const) : (['mp3_quality', options.mp3_quality] as const);
  return value === undefined || isDefault(name, value)
    ? []
    : [{ code: 'option_ignored', message: `The option ${name} has no effect with mp3_mode ${mode}.` }];
}

function settingsOf(target: string, options: Options): AudioSettings {
  if (target === 'wav') return { rate: options.wav_rate, channels: options.wav_channels, depth: options.wav_depth };
  const { audio_rate: rate, audio_channels: channels, audio_bitrate, mp3_bitrate } = options;
  return {
    rate,
    channels,
    bitrate: target === 'mp3' ? mp3_bitrate : soundOptions(target).includes('audio_bitrate') ? audio_bitrate : undefined,
  };
}
