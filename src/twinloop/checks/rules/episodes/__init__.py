"""EPI: is an episode worth learning from?"""
