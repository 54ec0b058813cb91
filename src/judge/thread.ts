/** A judging thread. A hostile file may stall anything here; `threads.ts` then terminates the thread. */
import { parentPort, workerData } from 'node:worker_threads';
import { answerOf, loadJudged } from './answer.ts';
import { type Question, READY, type ThreadData } from './question.ts';

const loaded = await loadJudged(workerData as ThreadData);
parentPort?.on('message', (question: Question) => parentPort?.postMessage(answerOf(loaded, question)));
parentPort?.postMessage(READY);
