"""`bench speed`: how fast is it?"""
