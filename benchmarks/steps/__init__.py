"""`bench steps`: what does memory save an agent?"""
