/** The same program with Whisper's model large v3 turbo, which an operator has to bring, and which wants a GPU. */
import type { Engine } from '../../engine.ts';
import { engine as speech, speechBy } from './speech.ts';

const MODEL = 'whisper-large-v3-turbo';

export const engine: Engine = { ...speech, id: 'speech-turbo', name: MODEL, binaries: speechBy(MODEL) };
