// Replaces the figures every second. Nothing comes from another place than this page.
const live = document.querySelector("main");
const state = document.querySelector("#connection");
async function refresh() {
  try {
    const answer = await fetch("live", { cache: "no-store" });
    if (!answer.ok) throw new Error(answer.status);
    live.innerHTML = await answer.text();
    state.textContent = "live";
    state.className = "live";
  } catch (error) {
    state.textContent = "no answer from the service: the figures below are old";
    state.className = "stale";
  }
  setTimeout(refresh, 1000);
}
setTimeout(refresh, 1000);
