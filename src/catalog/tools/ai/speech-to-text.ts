/** The words of a recording. */
import { z } from 'zod';
import { planDictation, engine as pocketsphinx } from '../../engines/media/dictation.ts';
import { mediaOf } from '../../engines/media/ffmpeg/streams.ts';
import { engine as base, planTranscribed } from '../../engines/media/speech.ts';
import { engine as small } from '../../engines/media/speech-small.ts';
import { engine as turbo } from '../../engines/media/speech-turbo.ts';
import { modelName, oneOf } from '../../options/fields.ts';
import { type Method, ONE_FILE, type Tool } from '../../tool.ts';
import { SOUNDS, VIDEOS } from '../../tool-families/media.ts';
import { boundedRecording } from '../../tool-families/recording.ts';

/** ISO 639-1, but for Hawaiian, which has no code there. */
const LANGUAGES = [
  'auto',
  ...['af', 'am', 'ar', 'as', 'az', 'ba', 'be', 'bg', 'bn', 'bo', 'br', 'bs', 'ca', 'cs', 'cy', 'da', 'de', 'el', 'en', 'es'],
  ...['et', 'eu', 'fa', 'fi', 'fo', 'fr', 'gl', 'gu', 'ha', 'he', 'hi', 'hr', 'ht', 'hu', 'hy', 'id', 'is', 'it', 'ja', 'jv'],
  ...['ka', 'kk', 'km', 'kn', 'ko', 'la', 'lb', 'ln', 'lo', 'lt', 'lv', 'mg', 'mi', 'mk', 'ml', 'mn', 'mr', 'ms', 'mt', 'my'],
  ...['ne', 'nl', 'nn', 'no', 'oc', 'pa', 'pl', 'ps', 'pt', 'ro', 'ru', 'sa', 'sd', 'si', 'sk', 'sl', 'sn', 'so', 'sq', 'sr'],
  ...['su', 'sv', 'sw', 'ta', 'te', 'tg', 'th', 'tk', 'tl', 'tr', 'tt', 'uk', 'ur', 'uz', 'vi', 'yi', 'yo', 'zh'],
  'haw',
] as const;
/** Whisper's own code of Javanese. */
const CODES: Readonly<Record<string, string>> = { jv: 'jw' };
const MAX_SECONDS = 2 * 60 * 60;
/** It takes half as long as the recording. */
const MAX_DICTATION_SECONDS = 30 * 60;

/** Recordings that the larger ones write down within the hour that a job may take, on one processor, by their sizes: base takes a sixth of the length. */
const FIT_SECONDS = { turbo: 10 * 60, small: 40 * 60 } as const;

const input = z.object({
  format: oneOf(['txt', 'srt', 'vtt']).default('txt'),
  quality: oneOf(['fast', 'balanced', 'best']).default('balanced'),
  language: oneOf(LANGUAGES).default('auto'),
  model: modelName.optional(),
});

export const tool: Tool = {
  slug: 'speech-to-text',
  summary: 'Writes down what is said in a recording or a video, as text or subtitles.',
  search: {
    en: 'transcribe, transcript, dictation, subtitles, captions, interview',
    de: 'transkribieren, abtippen, Diktat, Untertitel, Interview, Sprache zu Text',
    es: 'transcribir, dictado, subtítulos, entrevista, voz a texto',
  },
  family: 'ai',
  accepts: [...SOUNDS, ...VIDEOS],
  files: ONE_FILE,
  bounds: { maxBytes: 100 * 1024 * 1024, maxSeconds: MAX_SECONDS },
  input,
  example: { format: 'srt', language: 'en' },
  texts: {
    format: { means: 'Plain text, or subtitles with times.' },
    quality: {
      means: 'How thoroughly it listens: how many readings of each sentence are compared (1, 2 or 5), or how often it is gone through.',
    },
    language: { means: 'Spoken language (ISO 639-1); auto detects it from the first words.' },
    model: {
      means: `What listens: the first of ${turbo.name}, ${small.name} and ${base.name} that is installed and fast enough for the recording, or ${pocketsphinx.name}, which knows English only and mistakes three words in ten.`,
    },
  },
  showsText: true,
  daily: 100,
  mcp: {
    place: 7,
    title: 'Transcribe speech',
    description: 'Transcribes the speech of an audio or video file to text or subtitles.',
    params: { format: {}, language: {} },
  },
  work: {
    target: (_, given) => (given as z.output<typeof input>).format,
    methods: [
      whisper(turbo, FIT_SECONDS.turbo),
      whisper(small, FIT_SECONDS.small),
      whisper(base),
      {
        engine: pocketsphinx,
        plan: (order) => {
          const { language, quality } = order.input as z.output<typeof input>;
          return planDictation(boundedRecording(order, MAX_DICTATION_SECONDS), language, quality);
        },
      },
    ],
  },
};

/** @param fitSeconds of recordings for which it is taken without being named; unset: any */
function whisper(engine: Method['engine'], fitSeconds?: number): Method {
  return {
    engine,
    ...(fitSeconds !== undefined && { fits: ([source]) => (mediaOf(source?.facts ?? {}).duration ?? 0) <= fitSeconds }),
    plan: (order) => {
      const { language, quality } = order.input as z.output<typeof input>;
      return planTranscribed(boundedRecording(order, MAX_SECONDS), CODES[language] ?? language, quality);
    },
  };
}
