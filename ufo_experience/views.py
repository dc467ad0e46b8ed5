"""Other people's shapes of an experience, to and from ours.

| shape | from where | functions |
|---|---|---|
| `TaskExperience` dict | UFO's memory article: task_id, task_description, application, steps, … | `to_task_experience`, `from_task_experience` |
| state/action/outcome triple | the experience-memory interface | `to_triple`, `from_triple` |
| saved session | UFO's session documentation: task, request, trajectory, outcome, … | `to_saved_session` (read by `traces/sessions.py`) |
| `example` entry | UFO's `experience.yaml` | `to_ufo_example`, `from_ufo_example` |
"""
