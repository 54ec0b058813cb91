/** A recording without its noise. */
import { z } from 'zod';
import { AUDIO } from '../engines/ffmpeg/containers.ts';
import { planDenoised, planVoice } from '../engines/ffmpeg/denoise.ts';
import { engine as classical } from '../engines/separate.ts';
import { engine as deepfilternet } from '../engines/voice.ts';
import { modelName } from '../options/fields.ts';
import { ONE_FILE, type Tool } from '../tool.ts';
import { SOUNDS, soundTarget, VIDEOS, videoTarget } from '../tool-families/media.ts';
import { boundedRecording, MAX_RECORDING_SECONDS, RECORDING_BOUNDS } from '../tool-families/recording.ts';

export const tool: Tool = {
  slug: 'noise-reduction',
  summary: 'Takes the noise out of a recording of speech, or out of the sound of a video, whose picture is copied.',
  family: 'ai',
  accepts: [...SOUNDS, ...VIDEOS],
  files: ONE_FILE,
  bounds: RECORDING_BOUNDS,
  input: z.object({ model: modelName.optional() }),
  texts: {
    model: {
      means: `What is kept: ${deepfilternet.name}, which is used where it is installed, keeps speech alone; classical lowers steady noise, and keeps music and all other sounds.`,
    },
  },
  daily: 50,
  mcp: {
    title: 'Reduce noise',
    description: 'Removes all but speech from audio or video.',
    params: { model: { means: 'Keeps music: classical.' } },
  },
  work: {
    target: ([source = '']) => (SOUNDS.includes(source) || source in AUDIO ? soundTarget(source) : videoTarget(source)),
    methods: [
      { engine: deepfilternet, plan: (order) => planVoice(boundedRecording(order), MAX_RECORDING_SECONDS) },
      { engine: classical, plan: (order) => planDenoised(boundedRecording(order)) },
    ],
  },
};
