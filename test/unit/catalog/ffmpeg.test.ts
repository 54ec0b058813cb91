import { describe, expect, it } from 'vitest';
import type { Task } from '../../../src/catalog/engine.ts';
import { engine } from '../../../src/catalog/engines/media/ffmpeg.ts';

const H264 = { index: 0, codec_name: 'h264', codec_type: 'video', width: 640, height: 360, avg_frame_rate: '25/1' };
const AAC = { index: 1, codec_name: 'aac', codec_type: 'audio', sample_rate: '44100', channels: 2 };
const sound = (codec_name: string, change: object = {}) => ({ ...AAC, index: 0, codec_name, ...change });

/** A task on a file of these streams, as ffprobe tells of them. */
function aTask(source: string, target: string, streams: readonly object[], options: Task['options'] = {}, duration = '10.0'): Task {
  const facts = engine.inspect?.read(JSON.stringify({ format: { duration }, streams }), { source, target, options }) ?? {};
  return { source, target, options, input: '/in/file', output: '/out', scratch: '/scratch', passwordFile: undefined, facts };
}

const argsOf = (...task: Parameters<typeof aTask>): string => {
  const step = engine.plan(aTask(...task)).steps.at(-1);
  return step === undefined || !('run' in step) ? '' : step.args.join(' ');
};
const warningsOf = (...task: Parameters<typeof aTask>): readonly string[] =>
  (engine.plan(aTask(...task)).warnings ?? []).map(({ code }) => code);

describe('FFmpeg', () => {
  const cases: Record<string, readonly [args: string, ...expected: string[]]> = {
    'copies what the target holds': [argsOf('mkv', 'mp4', [H264, AAC]), '-c:v copy', '-c:a:0 copy', '+faststart'],
    'encodes for WebM what is no WebM': [argsOf('mp4', 'webm', [H264, AAC]), '-c:v libvpx-vp9', '-c:a:0 libopus', '-ar:a:0 48000'],
    'encodes the picture alone where the options change only the picture': [
      argsOf('mp4', 'mp4', [H264, AAC], { video_crf: 30 }),
      '-crf 30',
      '-c:a:0 copy',
    ],
    'encodes the sound alone where the options change only the sound': [
      argsOf('mp4', 'mp4', [H264, AAC], { audio_bitrate: 96 }),
      '-c:v copy',
      '-b:a:0 96k',
    ],
    'encodes where a cut is asked for': [
      argsOf('mp4', 'mp4', [H264, AAC], { start_time: 2, end_time: 5 }),
      '-ss 2 -t 3 -i',
      'libx264',
      '-c:a:0 aac',
    ],
    'makes sides even': [
      argsOf('gif', 'mp4', [{ ...H264, codec_name: 'gif', width: 33, height: 21 }]),
      'scale=trunc(iw/2)*2:trunc(ih/2)*2',
      'yuv420p',
    ],
    'keeps the ratio where one side is given': [argsOf('mp4', 'mkv', [H264], { video_width: 321 }), 'scale=320:-2'],
    'bakes a rotation in where the target cannot say it': [
      argsOf('mov', 'mkv', [{ ...H264, side_data_list: [{ rotation: -90 }] }, AAC]),
      'libx264',
    ],
    'keeps a rotation where the target can say it': [
      argsOf('mov', 'mp4', [{ ...H264, side_data_list: [{ rotation: -90 }] }, AAC]),
      '-c:v copy',
    ],
    'does not copy reordered frames out of an AVI': [argsOf('avi', 'mp4', [{ ...H264, has_b_frames: 2 }]), 'libx264'],
    'gives MPEG-2 the nearest frame rate that it has': [argsOf('mp4', 'mpg', [{ ...H264, avg_frame_rate: '15/1' }]), '-r 23.97602'],
    'keeps the shape of the pixels of a DVD': [
      argsOf('mpg', 'mp4', [{ ...H264, codec_name: 'mpeg2video', width: 720, height: 576, sample_aspect_ratio: '64:45' }]),
      `setsar=${64 / 45}:max=255`,
    ],
    'turns the shape of the pixels with the picture': [
      argsOf('mov', 'mkv', [{ ...H264, sample_aspect_ratio: '4:3', side_data_list: [{ rotation: -90 }] }]),
      'setsar=0.75:max=255',
    ],
    'gives MPEG-2 square pixels where it cannot state their shape': [
      argsOf('mp4', 'mpg', [{ ...H264, width: 720, height: 480, sample_aspect_ratio: '3:2' }]),
      'scale=trunc(iw*1.5/2)*2:trunc(ih/2)*2,setsar=1',
    ],
    'counts a requested width in square pixels': [
      argsOf('mpg', 'mp4', [{ ...H264, width: 720, height: 576, sample_aspect_ratio: '64:45' }], { video_width: 640 }),
      `scale=round(iw*${64 / 45}):ih,scale=640:-2,setsar=1`,
    ],
    'reads a program stream, or a video stream without a container': [argsOf('mpg', 'mp4', [H264]), '-format_whitelist mpeg,mpegvideo -i'],
    'takes the title of an Ogg from its stream': [argsOf('ogg', 'mp3', [sound('vorbis')]), '-map_metadata 0 -map_metadata 0:s:0'],
    'fails where a song has a cover and no sound': [argsOf('m4a', 'mp3', [AAC]), '-abort_on empty_output+empty_output_stream'],
    'names H.265 as players of MP4 want it': [argsOf('mkv', 'mp4', [{ ...H264, codec_name: 'hevc' }]), '-c:v copy -tag:v hvc1'],
    'turns text subtitles into those of MP4': [
      argsOf('mkv', 'mp4', [H264, { index: 2, codec_name: 'subrip', codec_type: 'subtitle' }]),
      '-map 0:2 -c:s:0 mov_text',
    ],
    'takes one demuxer for every stream': [argsOf('avi', 'mkv', [H264]), '-format_whitelist avi -f avi'],
    'encodes MP3 by quality unless asked otherwise': [argsOf('wav', 'mp3', [sound('pcm_s16le')]), '-c:a libmp3lame -q:a 2'],
    'encodes MP3 at a constant rate': [argsOf('wav', 'mp3', [sound('pcm_s16le')], { mp3_mode: 'cbr', mp3_bitrate: 320 }), '-b:a 320k'],
    'encodes MP3 at an average rate': [
      argsOf('wav', 'mp3', [sound('pcm_s16le')], { mp3_mode: 'abr', mp3_bitrate: 128 }),
      '-b:a 128k -abr 1',
    ],
    'mixes four channels down for MP3': [argsOf('wav', 'mp3', [sound('pcm_s16le', { channels: 4 })]), '-ac 2'],
    'writes 16 bits from a lossy source': [argsOf('mp3', 'wav', [sound('mp3')]), 'pcm_s16le'],
    'keeps 24 bits': [argsOf('flac', 'wav', [sound('flac', { bits_per_raw_sample: '24' })]), 'pcm_s24le'],
    'keeps 24 bits in FLAC': [
      argsOf('wav', 'flac', [sound('pcm_s24le', { bits_per_sample: 24 })]),
      '-sample_fmt s32 -bits_per_raw_sample 24',
    ],
    'writes WAV as asked': [
      argsOf('mp3', 'wav', [sound('mp3')], { wav_rate: 8000, wav_depth: 8, wav_channels: 1 }),
      'pcm_u8',
      '-ar 8000',
      '-ac 1',
    ],
    'copies sound out of a video': [argsOf('mp4', 'm4a', [H264, AAC]), '-map 0:1', '-c:a copy'],
    'takes the requested track': [argsOf('mkv', 'mp3', [H264, AAC, { ...AAC, index: 2 }], { track: 2 }), '-map 0:2'],
    'keeps a cover': [
      argsOf('flac', 'mp3', [sound('flac'), { ...H264, index: 1, codec_name: 'mjpeg', disposition: { attached_pic: 1 } }]),
      '-map 0:1 -c:v copy',
    ],
    'takes the frame at the start time': [
      argsOf('mp4', 'jpg', [H264], { start_time: 3, img_quality: 100 }),
      '-ss 3 -i',
      '-frames:v 1',
      '-q:v 2',
    ],
    'drops tags where asked': [argsOf('mp3', 'mp3', [sound('mp3')], { strip_metadata: true }), '-map_metadata -1', '-c:a copy'],
  };
  for (const [sentence, [args, ...expected]] of Object.entries(cases))
    it(sentence, () => {
      for (const part of expected) expect(args).toContain(part);
    });

  it('does not touch the channels that FLAC holds', () =>
    expect(argsOf('wav', 'flac', [sound('pcm_s16le', { channels: 4 })])).not.toContain('-ac'));

  it('says which streams it leaves out', () => {
    const subtitles = { index: 2, codec_name: 'hdmv_pgs_subtitle', codec_type: 'subtitle' };
    expect(warningsOf('mkv', 'mp4', [H264, AAC, subtitles])).toEqual(['streams_dropped']);
    expect(warningsOf('mkv', 'mkv', [H264, AAC, subtitles])).toEqual([]);
  });

  it('says that an animation has no sound where the video has some', () => {
    expect(warningsOf('mp4', 'gif', [H264, AAC])).toEqual(['lossy']);
    expect(warningsOf('mp4', 'gif', [H264])).toEqual([]);
  });

  it('warns of an end past the end', () => expect(warningsOf('mp3', 'wav', [sound('mp3')], { end_time: 99 })).toEqual(['end_past_end']));

  it('reads progress against the length of the cut', () => {
    const [step] = engine.plan(aTask('mp4', 'mkv', [H264], { start_time: 5 })).steps;
    const progress = step !== undefined && 'run' in step ? step.progress : undefined;
    expect(progress?.('out_time_us=2500000')).toBe(0.5);
    expect(progress?.('frame=3')).toBeUndefined();
  });

  const refusals: Record<string, readonly [Parameters<typeof aTask>, string]> = {
    'sound of a silent video': [['mp4', 'mp3', [H264]], 'no_stream'],
    'a track that is not there': [['mp4', 'mp3', [H264, AAC], { track: 2 }], 'no_stream'],
    'the picture of a song with a cover': [['mp4', 'png', [AAC, { ...H264, disposition: { attached_pic: 1 } }]], 'no_stream'],
    'a GIF of more than a minute': [['mp4', 'gif', [H264], {}, '61'], 'input_limit'],
    'seven hours': [['mp3', 'wav', [sound('mp3')], {}, '25200'], 'input_limit'],
    'frames of 256 million pixels': [['mp4', 'mkv', [{ ...H264, width: 16_000, height: 16_000 }]], 'input_limit'],
    'a hundred streams': [['mkv', 'mp4', Array.from({ length: 100 }, (_, index) => ({ ...AAC, index }))], 'input_limit'],
  };
  for (const [sentence, [task, reason]] of Object.entries(refusals))
    it(`refuses ${sentence}`, () => {
      expect(() => engine.plan(aTask(...task))).toThrow(expect.objectContaining({ details: expect.objectContaining({ reason }) }));
    });

  it('refuses a start behind the end', () =>
    expect(() => engine.plan(aTask('mp4', 'mp4', [H264], { start_time: 11 }))).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', details: expect.objectContaining({ option: 'start_time', received: '11' }) }),
    ));

  it('refuses a codec that the container does not take', () => {
    expect(() => engine.plan(aTask('mp4', 'webm', [H264], { video_codec: 'h264' }))).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION' }),
    );
  });
});
