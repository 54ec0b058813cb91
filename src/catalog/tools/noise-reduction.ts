/** A recording without its noise. */
import { z } from 'zod';
import { AUDIO } from '../engines/ffmpeg/containers.ts';
import { planDenoised } from '../engines/ffmpeg/denoise.ts';
import { engine as classical } from '../engines/separate.ts';
import { ONE_FILE, type Tool } from '../tool.ts';
import { SOUNDS, soundTarget, VIDEOS, videoTarget } from '../tool-families/media.ts';
import { boundedRecording, RECORDING_BOUNDS } from '../tool-families/recording.ts';

export const tool: Tool = {
  slug: 'noise-reduction',
  summary: 'Takes steady noise out of a recording, or out of the sound of a video, whose picture is copied.',
  family: 'ai',
  accepts: [...SOUNDS, ...VIDEOS],
  files: ONE_FILE,
  bounds: RECORDING_BOUNDS,
  input: z.object({}),
  daily: 50,
  mcp: { title: 'Reduce noise', description: 'Removes background noise from audio, or from the audio of a video.' },
  work: {
    target: ([source = '']) => (SOUNDS.includes(source) || source in AUDIO ? soundTarget(source) : videoTarget(source)),
    methods: [{ engine: classical, plan: (order) => planDenoised(boundedRecording(order)) }],
  },
};
