/** The same program with Whisper's small model, three times as large as base, which an operator has to bring. */
import type { Engine } from '../../engine.ts';
import { engine as speech, speechBy } from './speech.ts';

const MODEL = 'whisper-small';

export const engine: Engine = { ...speech, id: 'speech-small', name: MODEL, binaries: speechBy(MODEL) };
