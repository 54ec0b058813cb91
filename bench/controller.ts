export async function controller(): Promise<void> {}
